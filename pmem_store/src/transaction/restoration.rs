//! A restoration is the change that RESTORE TABLE makes; here it is applied to one state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::preconditions::{require, require_changeable};
use crate::catalog::{SegmentRecord, TableId, TableRecord};
use crate::deletions::Deletions;
use crate::error::{Result, StoreError};
use crate::segment::SealedSegment;
use crate::shared::Shared;
use crate::state::{CatalogState, TableData, TableLog, TableSegment, TableState};

/// What a table becomes again.
#[derive(Debug)]
pub struct Restoration {
    pub table: TableId,
    /// The table when this was made; `log_rows` has the numbers of rows of its logs. A change by others
    /// since is a conflict.
    pub expected: Arc<TableState>,
    pub log_rows: BTreeMap<u64, u64>,
    pub record: Arc<TableRecord>,
    pub data: Arc<TableData>,
    /// For the logs that stay: the number of their rows that stay.
    pub kept_log_rows: BTreeMap<u64, u64>,
    pub added: Vec<AddedSegment>,
}

/// A segment of rows that come back, in its own files.
#[derive(Debug)]
pub struct AddedSegment {
    pub sealed: SealedSegment,
    pub schema_version: u32,
    pub sorted: bool,
    pub deletions: Option<Arc<Deletions>>,
    pub columns: Option<Arc<[Option<usize>]>>,
}

impl Restoration {
    /// Segments whose files are new.
    pub fn added(&self) -> Vec<SealedSegment> {
        self.added.iter().map(|added| added.sealed.clone()).collect()
    }

    /// A log stays if its deleted rows of that version are the same now.
    pub fn find_kept_logs(&mut self, now: &TableData, version: u64) {
        for (id, then) in &self.data.logs {
            let rows = then.log.rows_at(version);
            let Some(now) = now.logs.get(id).filter(|_| rows > 0) else { continue };
            let mut deleted = now.deletions.as_ref().map(|deletions| deletions.rows().clone()).unwrap_or_default();
            deleted.remove_range(rows as u32..);
            if then.deletions.as_ref().map_or(deleted.is_empty(), |then| *then.rows() == deleted) {
                self.kept_log_rows.insert(*id, rows);
            }
        }
    }

    pub fn is_nothing(&self, now: &TableData, version: u64) -> bool {
        let same_rows = |(id, rows): (&u64, &u64)| {
            let then = self.data.logs.get(id).map_or(0, |log| log.log.rows_at(version));
            *rows == 0 && then == 0 || self.kept_log_rows.get(id) == Some(rows)
        };
        same_definition(&self.expected.record, &self.record)
            && same_content(now, &self.data)
            && now.pending.is_empty()
            && self.log_rows.iter().all(same_rows)
    }
}

pub fn restore(state: &mut CatalogState, restoration: &Restoration, version: u64, shared: &Arc<Shared>) -> Result<()> {
    let entry = require(state, restoration.table)?;
    require_changeable(&entry)?;
    let now = entry.data()?;
    if !is_untouched(&entry, &now, restoration)? {
        return Err(StoreError::Conflict { table: entry.record.name.clone() });
    }
    let then = &restoration.data;
    let mut record = entry.record.clone();
    let same_key = record.cluster_key == restoration.record.cluster_key;
    record.cluster_key = restoration.record.cluster_key.clone();
    record.constraints = restoration.record.constraints.clone();
    if !same_columns(&now, then) || !same_definition(&entry.record, &restoration.record) {
        // The old number would be assigned again by the next ALTER TABLE.
        record.schema_version += 1;
    }
    let mut segments: BTreeMap<u64, TableSegment> =
        restoration.added.iter().map(|added| (added.sealed.id, added.segment(record.id, version, shared))).collect();
    for (id, then) in &then.segments {
        if let Some(now) = now.segments.get(id).filter(|now| same_deletions(now, then)) {
            let mut segment = TableSegment { columns: then.columns.clone(), ..now.clone() };
            if !same_key {
                Arc::make_mut(&mut segment.record).sorted = false;
            }
            segments.insert(*id, segment);
        }
    }
    let mut logs = now.logs.clone();
    for (id, log) in &mut logs {
        delete_beyond(log, restoration.kept_log_rows.get(id).copied().unwrap_or(0));
        if !same_columns(&now, then) {
            // Rows that do not stay need no columns.
            log.columns = then.logs.get(id).map_or_else(|| Some(vec![None; then.columns.len()].into()), |then| then.columns.clone());
        }
    }
    let data = TableData {
        schema: Arc::clone(&then.schema),
        columns: then.columns.clone(),
        segments,
        logs,
        pending: Vec::new(),
        earlier_schemas: now.earlier_schemas.clone(),
    };
    state.change_table(record, data, version);
    Ok(())
}

fn is_untouched(entry: &TableState, now: &TableData, restoration: &Restoration) -> Result<bool> {
    let expected = &restoration.expected;
    let same_log = |(id, log): (&u64, &TableLog)| restoration.log_rows.get(id) == Some(&log.log.rows_at(u64::MAX));
    Ok(same_definition(&entry.record, &expected.record)
        && same_content(now, &*expected.data()?)
        && now.logs.len() == restoration.log_rows.len()
        && now.logs.iter().all(same_log))
}

impl AddedSegment {
    fn segment(&self, table: TableId, version: u64, shared: &Shared) -> TableSegment {
        let record = SegmentRecord {
            sealed: self.sealed.clone(),
            schema_version: self.schema_version,
            added_version: version,
            sorted: self.sorted,
            removed_version: None,
            grown: Vec::new(),
        };
        TableSegment {
            handle: shared.handle(table, &self.sealed),
            record: Arc::new(record),
            deletions: self.deletions.clone(),
            columns: self.columns.clone(),
        }
    }
}

/// A log keeps all its rows for older versions; newer ones see only the first `row_count`.
fn delete_beyond(log: &mut TableLog, row_count: u64) {
    let mut deleted = log.deletions.as_ref().map(|deletions| deletions.rows().clone()).unwrap_or_default();
    let before = deleted.len();
    deleted.insert_range(row_count as u32..log.log.rows_at(u64::MAX) as u32);
    if deleted.len() != before {
        log.deletions = Some(Arc::new(Deletions::new(deleted)));
    }
}

fn same_definition(one: &TableRecord, other: &TableRecord) -> bool {
    (&one.cluster_key, &one.constraints) == (&other.cluster_key, &other.constraints)
}

fn same_columns(one: &TableData, other: &TableData) -> bool {
    one.schema == other.schema && one.columns == other.columns
}

pub fn same_deletions(one: &TableSegment, other: &TableSegment) -> bool {
    one.deletions.as_deref() == other.deletions.as_deref()
}

/// The same columns, segments and pending rows; files with the same id are the same. Of logs it compares only
/// the ids, because the number of rows that count depends on the version.
fn same_content(one: &TableData, other: &TableData) -> bool {
    let ids = |data: &TableData| -> Vec<u64> { data.pending.iter().map(|pending| pending.id).collect() };
    let deleted = |data: &TableData, id: u64| data.logs.get(&id).and_then(|log| log.deletions.clone());
    let same_segments = one.segments.len() == other.segments.len()
        && one.segments.values().zip(other.segments.values()).all(|(one, other)| one.id() == other.id() && same_deletions(one, other));
    same_columns(one, other)
        && same_segments
        && ids(one) == ids(other)
        && one.logs.keys().all(|id| deleted(one, *id).as_deref() == deleted(other, *id).as_deref())
}
