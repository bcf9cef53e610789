//! RESTORE TABLE: a new version of a table with the rows and columns of an older one.
//!
//! Invariant: the id of a segment that a table has lost never comes back, and the deletion vector of
//! one only grows; conflicts are found by both. So a segment that was removed since, or that had
//! fewer deleted rows then, returns under a new id, whose files are second names of the old ones.
//! Rows of a log that come back are written anew; those that were added to it since are deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::apply::{changed, require};
use super::change::Change;
use super::handle::Transaction;
use crate::ZONE_ROWS;
use crate::catalog::{SegmentRecord, TableId, TableRecord};
use crate::deletions::Deletions;
use crate::error::{Result, StoreError};
use crate::files;
use crate::segment::{SealedSegment, link_segment_files};
use crate::shared::Shared;
use crate::snapshot::TableSnapshot;
use crate::state::{CatalogState, TableData, TableLog, TableSegment, TableState, Tail};
use crate::store::Store;

/// What a table becomes again.
#[derive(Debug)]
pub struct Restoration {
    pub table: TableId,
    /// The table when this was made, and how many rows its logs had. One that others have changed
    /// since is a conflict.
    expected: Arc<TableState>,
    log_rows: BTreeMap<u64, u64>,
    record: Arc<TableRecord>,
    data: Arc<TableData>,
    /// Of logs that stay: how many of their rows.
    kept_log_rows: BTreeMap<u64, u64>,
    added: Vec<AddedSegment>,
}

/// A segment of rows that come back, in files of its own.
#[derive(Debug)]
struct AddedSegment {
    sealed: SealedSegment,
    schema_version: u32,
    sorted: bool,
    deletions: Option<Arc<Deletions>>,
    columns: Option<Arc<[Option<usize>]>>,
}

impl Transaction {
    /// Makes a table what it was at `version`: rows, columns, key and constraints; its name and
    /// options stay. False where it is that already.
    ///
    /// # Errors
    ///
    /// Those of [`Store::table_at`].
    pub fn restore_table(&mut self, namespace: &str, name: &str, version: u64) -> Result<bool> {
        let expected = Arc::clone(self.state.require_table(namespace, name)?);
        let store = Store { core: Arc::clone(&self.core) };
        // Its pin keeps the old files until they have their second names.
        let then = store.table_version(&expected.record, version)?;
        let base = self.base.version();
        let now = expected.data()?;
        let log_rows: BTreeMap<u64, u64> = now.logs.iter().map(|(id, log)| (*id, log.log.rows_at(base))).collect();
        let mut restoration = Restoration {
            table: expected.record.id,
            expected,
            log_rows,
            record: Arc::clone(then.shared_record()),
            data: Arc::clone(then.data()),
            kept_log_rows: BTreeMap::new(),
            added: Vec::new(),
        };
        restoration.find_kept_logs(&now, version);
        if restoration.is_nothing(&now, version) {
            return Ok(false);
        }
        self.core.check_writable()?;
        // Dropped with an error, it takes the files with it.
        let mut unfinished = Unfinished { store: &store, restoration: Some(restoration) };
        if let Some(restoration) = &mut unfinished.restoration {
            relink(&store, restoration, &now)?;
            rewrite(&store, restoration, &then)?;
        }
        match unfinished.restoration.take() {
            Some(restoration) => self.change(Change::RestoreTable(Arc::new(restoration))).map(|()| true),
            None => unreachable!("it is taken here alone"),
        }
    }
}

impl Restoration {
    /// Segments whose files are new.
    pub fn added(&self) -> Vec<SealedSegment> {
        self.added.iter().map(|added| added.sealed.clone()).collect()
    }

    /// A log stays if none of its rows of then is deleted by now.
    fn find_kept_logs(&mut self, now: &TableData, version: u64) {
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

    fn is_nothing(&self, now: &TableData, version: u64) -> bool {
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

/// Removes the files of what did not become a change.
struct Unfinished<'a> {
    store: &'a Store,
    restoration: Option<Restoration>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(restoration) = &self.restoration {
            self.store.core.discard(restoration.table, &restoration.added());
        }
    }
}

/// Second names for the files of segments that are to come back. Durable when this returns; nobody
/// sees them before they are committed.
fn relink(store: &Store, restoration: &mut Restoration, now: &TableData) -> Result<()> {
    let (core, table) = (&store.core, restoration.table);
    let then = Arc::clone(&restoration.data);
    for (id, segment) in &then.segments {
        if now.segments.get(id).is_some_and(|now| same_deletions(now, segment)) {
            continue;
        }
        let new_id = core.next_segment.fetch_add(1, Ordering::Relaxed);
        restoration.added.push(AddedSegment {
            sealed: SealedSegment { id: new_id, ..segment.record().sealed.clone() },
            schema_version: segment.record().schema_version,
            sorted: segment.record().sorted,
            deletions: segment.deletions.clone(),
            columns: segment.columns.clone(),
        });
        link_segment_files(segment.path(), &files::segment_path(core.path(), table, new_id), &core.poison)?;
    }
    match restoration.added.is_empty() {
        true => Ok(()),
        false => files::sync_store_dir(&files::table_dir(core.path(), table), &core.poison),
    }
}

/// Segments of the rows of logs that do not stay.
fn rewrite(store: &Store, restoration: &mut Restoration, then: &TableSnapshot) -> Result<()> {
    let data = Arc::clone(&restoration.data);
    let is_kept = |tail: &&Tail| restoration.kept_log_rows.contains_key(&tail.id());
    let gone: Vec<&Tail> = then.tails().iter().filter(|tail| !is_kept(tail) && tail.row_count() > 0).collect();
    for tail in gone {
        let Some(log) = data.logs.get(&tail.id()) else { continue };
        let mut appender = store.appender(restoration.table, tail.schema())?;
        for chunk in 0..tail.chunk_count() {
            let batch = tail.chunk(chunk)?;
            let first = (chunk * ZONE_ROWS) as u32;
            let rows = first..first + batch.num_rows() as u32;
            let is_live = |row: u32| tail.deletions().is_none_or(|gone| !gone.rows().contains(row));
            let live: BooleanArray = rows.map(|row| Some(is_live(row))).collect();
            appender.write(filter_record_batch(&batch, &live)?)?;
        }
        tail.check_intact()?;
        restoration.added.extend(appender.finish()?.into_iter().map(|sealed| AddedSegment {
            sealed,
            schema_version: log.record.schema_version,
            sorted: false,
            deletions: None,
            columns: log.columns.clone(),
        }));
    }
    Ok(())
}

pub fn restore(state: &mut CatalogState, restoration: &Restoration, version: u64, shared: &Arc<Shared>) -> Result<()> {
    let known = require(state, restoration.table)?;
    let now = known.data()?;
    if !is_untouched(&known, &now, restoration)? {
        return Err(StoreError::Conflict { table: known.record.name.clone() });
    }
    let then = &restoration.data;
    let mut record = known.record.clone();
    let same_key = record.cluster_key == restoration.record.cluster_key;
    record.cluster_key = restoration.record.cluster_key.clone();
    record.constraints = restoration.record.constraints.clone();
    if !same_columns(&now, then) || !same_definition(&known.record, &restoration.record) {
        // A number of its own: the old one would be given out again by the next ALTER TABLE.
        record.schema_version += 1;
    }
    let mut segments: BTreeMap<u64, TableSegment> =
        restoration.added.iter().map(|added| (added.sealed.id, added.segment(record.id, version, shared))).collect();
    for (id, then) in &then.segments {
        if let Some(now) = now.segments.get(id).filter(|now| same_deletions(now, then)) {
            let mut kept = TableSegment { columns: then.columns.clone(), ..now.clone() };
            if !same_key {
                Arc::make_mut(&mut kept.record).sorted = false;
            }
            segments.insert(*id, kept);
        }
    }
    let mut logs = now.logs.clone();
    for (id, log) in &mut logs {
        delete_beyond(log, restoration.kept_log_rows.get(id).copied().unwrap_or(0));
        if !same_columns(&now, then) {
            // Of rows that do not stay there is nothing left to have columns.
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
    changed(state, record, data, version);
    Ok(())
}

fn is_untouched(known: &TableState, now: &TableData, restoration: &Restoration) -> Result<bool> {
    let expected = &restoration.expected;
    let same_log = |(id, log): (&u64, &TableLog)| restoration.log_rows.get(id) == Some(&log.log.rows_at(u64::MAX));
    Ok(same_definition(&known.record, &expected.record)
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

/// A log keeps all its rows for older versions; newer ones have only the first `kept`.
fn delete_beyond(log: &mut TableLog, kept: u64) {
    let mut deleted = log.deletions.as_ref().map(|deletions| deletions.rows().clone()).unwrap_or_default();
    let before = deleted.len();
    deleted.insert_range(kept as u32..log.log.rows_at(u64::MAX) as u32);
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

fn same_deletions(one: &TableSegment, other: &TableSegment) -> bool {
    one.deletions.as_deref() == other.deletions.as_deref()
}

/// The same columns, segments and pending rows; where an id is the same, so is the file. Of logs only
/// which there are: how many rows of one count depends on the version.
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
