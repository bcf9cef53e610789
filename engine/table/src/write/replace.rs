//! New rows in place of old ones, in one change.

use std::collections::BTreeMap;

use pmem_store::{RoaringBitmap, StoreError, TableId};

use super::rows::WriteTarget;
use super::scope::WriteScope;
use super::staged_rows::StagedRows;
use common::error::EngineError;

/// Deletes old rows first, so that a new row may have the key of a deleted one. `deletions` has their positions, by segment.
pub fn replace_rows(
    scope: &WriteScope,
    operation: &str,
    target: &WriteTarget,
    id: TableId,
    deletions: BTreeMap<u64, RoaringBitmap>,
    written: Option<StagedRows>,
) -> Result<(), EngineError> {
    let is_sorted = !target.cluster_key.is_empty();
    let mut is_allowed = false;
    let changed = scope.change(operation, |transaction| {
        if !deletions.is_empty() {
            transaction.delete_rows(id, deletions)?;
        }
        if let Some(written) = written {
            written.add_to(transaction, is_sorted)?;
        }
        is_allowed = true;
        Ok(())
    });
    match changed {
        // A concurrent commit caused this: on the new state the statement may have another effect.
        Err(EngineError::Store(StoreError::Refused(_))) if is_allowed => Err(StoreError::Conflict { table: target.table.clone() }.into()),
        changed => changed,
    }
}
