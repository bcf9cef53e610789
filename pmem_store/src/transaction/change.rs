//! What a transaction does, as a list that can be done again on a newer state.

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
    /// Rows of the physical schema, for a log. `id` is theirs until they are in one.
    AppendRows {
        table: TableId,
        id: u64,
        rows: RecordBatch,
        schema_version: u32,
    },
    /// A log takes no more rows.
    CloseLog {
        table: TableId,
        log: u64,
    },
    /// A closed log without rows goes.
    DropLog {
        table: TableId,
        log: u64,
    },
    /// A closed log becomes the segment of its id.
    SealLog {
        table: TableId,
        sealed: SealedSegment,
    },
    DeleteRows {
        table: TableId,
        deleted: Vec<DeletedRows>,
    },
    /// Rows of segments and logs that were not there when it was made are not meant.
    ClearTable {
        table: TableId,
        known: ClearedRows,
    },
    ReplaceSegments(Arc<Replacement>),
    RestoreTable(Arc<Restoration>),
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

#[derive(Debug)]
pub struct DeletedRows {
    pub segment: u64,
    pub rows: RoaringBitmap,
    /// What was deleted when these rows were found; rows deleted by others since are a conflict.
    pub base: Option<Arc<Deletions>>,
}

impl Change {
    /// Segments it would have made part of the store, and that the state has not: added and removed in one transaction.
    pub fn left_out(&self, state: &CatalogState) -> Vec<(TableId, u64)> {
        let (table, segments) = match self {
            Change::AddSegments { table, segments, .. } => (*table, segments.clone()),
            Change::ReplaceSegments(replacement) => (replacement.table, replacement.added.clone()),
            Change::RestoreTable(restoration) => (restoration.table, restoration.added()),
            _ => return Vec::new(),
        };
        let known = state.table_by_id(table).and_then(|known| known.loaded().cloned());
        let is_there = |id: u64| known.as_ref().is_some_and(|data| data.segments.contains_key(&id));
        segments.into_iter().map(|segment| segment.id).filter(|id| !is_there(*id)).map(|id| (table, id)).collect()
    }

    /// Removes the files it would have made part of the store.
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
