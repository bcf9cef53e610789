//! The changes of a transaction, as a list that can be applied again to a newer state.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use roaring::RoaringBitmap;

use super::TableAlteration;
use super::restoration::Restoration;
use crate::catalog::{ColumnOrder, TableId, ViewRecord};
use crate::deletions::Deletions;
use crate::segment::SealedSegment;
use crate::shared::{ClearedRows, Replacement};
use crate::state::{CatalogState, ColumnInfo};
use crate::store::StoreCore;

#[derive(Debug)]
pub enum Change {
    CreateNamespace {
        name: String,
    },
    DropNamespace {
        name: String,
        cascade: bool,
    },
    CreateTable {
        id: TableId,
        namespace: String,
        name: String,
        schema: SchemaRef,
        columns: Vec<ColumnInfo>,
        cluster_key: Vec<ColumnOrder>,
        constraints: Vec<String>,
        options: BTreeMap<String, String>,
        replace: bool,
    },
    DropTable {
        table: TableId,
        name: String,
    },
    AlterTable {
        table: TableId,
        base_schema_version: u32,
        alteration: TableAlteration,
    },
    AddSegments {
        table: TableId,
        segments: Vec<SealedSegment>,
        sorted: bool,
        schema_version: u32,
    },
    /// Rows of the physical schema, for a log. They have the id `id` until they are in a log.
    AppendRows {
        table: TableId,
        id: u64,
        rows: RecordBatch,
        schema_version: u32,
    },
    /// The log takes no more rows.
    CloseLog {
        table: TableId,
        log: u64,
    },
    /// Drops a closed log without rows.
    DropLog {
        table: TableId,
        log: u64,
    },
    /// A closed log becomes the segment with its id.
    SealLog {
        table: TableId,
        sealed: SealedSegment,
    },
    DeleteRows {
        table: TableId,
        deleted: Vec<DeletedRows>,
    },
    /// It does not concern rows of segments and logs that were added after the change was made.
    ClearTable {
        table: TableId,
        rows: ClearedRows,
    },
    ReplaceSegments(Arc<Replacement>),
    RestoreTable(Arc<Restoration>),
    /// Programs that do not know these features must not read the store from now on.
    RequireReaderFeatures(u64),
    CreateView {
        record: ViewRecord,
        replace: bool,
    },
    DropView {
        namespace: String,
        name: String,
    },
    CreateSnapshot {
        name: String,
        version: u64,
    },
    DropSnapshot {
        name: String,
    },
}

impl Change {
    /// The table whose rows a user's statement changes.
    pub fn written_table(&self) -> Option<TableId> {
        match self {
            Change::AddSegments { table, .. } | Change::AppendRows { table, .. } | Change::DeleteRows { table, .. } => Some(*table),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub struct DeletedRows {
    pub segment: u64,
    pub rows: RoaringBitmap,
    /// The rows that were deleted when these were found; rows deleted by others since are a conflict.
    pub base: Option<Arc<Deletions>>,
}

impl Change {
    /// The segments that were added and removed in one transaction, so that the state does not have them.
    pub fn left_out(&self, state: &CatalogState) -> Vec<(TableId, u64)> {
        let (table, segments) = match self {
            Change::AddSegments { table, segments, .. } => (*table, segments.clone()),
            Change::ReplaceSegments(replacement) => (replacement.table, replacement.added.clone()),
            Change::RestoreTable(restoration) => (restoration.table, restoration.added()),
            _ => return Vec::new(),
        };
        let data = state.table_by_id(table).and_then(|entry| entry.loaded().cloned());
        let is_there = |id: u64| data.as_ref().is_some_and(|data| data.segments.contains_key(&id));
        segments.into_iter().map(|segment| segment.id).filter(|id| !is_there(*id)).map(|id| (table, id)).collect()
    }

    /// Removes the files of the segments that it would have added.
    pub fn discard(&self, core: &StoreCore) {
        match self {
            Change::AddSegments { table, segments, .. } => core.discard(*table, segments),
            Change::ReplaceSegments(replacement) => core.discard(replacement.table, &replacement.added),
            Change::RestoreTable(restoration) => core.discard(restoration.table, &restoration.added()),
            Change::SealLog { table, sealed } => core.discard(*table, std::slice::from_ref(sealed)),
            _ => {}
        }
    }
}
