//! Changes of a table's logs: they are closed when full, sealed into segments, emptied.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::preconditions::require;
use crate::catalog::{Grown, SegmentRecord, TableId};
use crate::deletions::Deletions;
use crate::error::{Result, StoreError};
use crate::log::LogCommit;
use crate::segment::SealedSegment;
use crate::shared::{ClearedRows, Shared};
use crate::state::{CatalogState, TableData, TableSegment};

/// A sealed log remembers no more versions than this; the others cannot be read any more.
const GROWN_MAX: usize = 1_000;

pub fn close(state: &mut CatalogState, table: TableId, log: u64, version: u64) -> Result<()> {
    let entry = require(state, table)?;
    let mut data = entry.data()?.as_ref().clone();
    let conflict = || StoreError::Conflict { table: entry.record.name.clone() };
    data.logs.get_mut(&log).ok_or_else(conflict)?.record.closed = true;
    state.change_table(entry.record.clone(), data, version);
    Ok(())
}

pub fn remove(state: &mut CatalogState, table: TableId, log: u64, version: u64) -> Result<()> {
    let entry = require(state, table)?;
    let mut data = entry.data()?.as_ref().clone();
    data.logs.remove(&log);
    state.change_table(entry.record.clone(), data, version);
    Ok(())
}

/// The rows keep their positions, so the deleted rows of the log are the deleted rows of the segment.
pub fn seal(state: &mut CatalogState, table: TableId, sealed: &SealedSegment, version: u64, shared: &Arc<Shared>) -> Result<()> {
    let entry = require(state, table)?;
    let mut data = entry.data()?.as_ref().clone();
    let conflict = || StoreError::Conflict { table: entry.record.name.clone() };
    let log = data.logs.remove(&sealed.id).ok_or_else(conflict)?;
    let mut needed: Vec<u64> = state.snapshots.values().map(|snapshot| snapshot.version).collect();
    needed.extend(shared.live_versions());
    let record = SegmentRecord {
        sealed: sealed.clone(),
        schema_version: log.record.schema_version,
        added_version: log.record.created_version,
        sorted: false,
        removed_version: None,
        grown: retained_commits(&log.log.commits()?, &needed),
    };
    let handle = shared.handle(table, sealed);
    let segment = TableSegment { record: Arc::new(record), handle, deletions: log.deletions, columns: log.columns };
    data.segments.insert(sealed.id, segment);
    state.change_table(entry.record.clone(), data, version);
    Ok(())
}

/// The commits of a log that are remembered: an even selection with the last one, and those
/// that the versions `needed` see. These have names, or open transactions may still name them.
fn retained_commits(commits: &[LogCommit], needed: &[u64]) -> Vec<Grown> {
    let step = commits.len().div_ceil(GROWN_MAX).max(1);
    let last = commits.len().saturating_sub(1);
    let grown = commits.iter().enumerate().map(|(at, commit)| {
        let until = commits.get(at + 1).map_or(u64::MAX, |next| next.version);
        (at, Grown { version: commit.version, until, rows: commit.rows, committed_at_ms: commit.committed_at_ms })
    });
    let is_needed = |grown: &Grown| needed.iter().any(|version| (grown.version..grown.until).contains(version));
    grown.filter(|(at, grown)| *at == last || at % step == 0 || is_needed(grown)).map(|(_, grown)| grown).collect()
}

/// Whether rows that are not in `rows` were added before `version`.
pub fn has_more(data: &TableData, rows: &ClearedRows, version: u64) -> bool {
    // A sealed log is the segment with its id.
    let is_known = |id: &u64| rows.segments.contains(id) || rows.logs.contains_key(id);
    let more_rows = data.logs.iter().any(|(id, log)| rows.logs.get(id).copied().unwrap_or(0) < log.log.rows_at(version - 1));
    let grown = |(id, count): (&u64, &u64)| data.segments.get(id).is_some_and(|segment| segment.record.sealed.row_count > *count);
    more_rows || data.segments.keys().any(|id| !is_known(id)) || rows.logs.iter().any(grown)
}

/// A log keeps its rows for older versions; in newer ones they are deleted.
pub fn clear(data: &mut TableData, version: u64) {
    for log in data.logs.values_mut() {
        let mut all = RoaringBitmap::new();
        all.insert_range(0..log.log.rows_at(version - 1) as u32);
        log.deletions = (!all.is_empty()).then(|| Arc::new(Deletions::new(all)));
    }
}
