//! One table at one version.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{Schema, SchemaRef};
use parking_lot::Mutex;

use super::columns::{ColumnInfo, split_columns};
use super::tail::{PendingRows, TableLog};
use crate::catalog::{CatalogReader, Database, SegmentRecord, TableRecord};
use crate::deletions::Deletions;
use crate::error::{Result, StoreError};
use crate::logs::OpenLog;
use crate::segment::Segment;
use crate::shared::{SegmentHandle, Shared};

/// A table whose columns and segments may not have been read from the catalog yet.
#[derive(Debug)]
pub(crate) struct TableState {
    pub record: TableRecord,
    data: OnceLock<Arc<TableData>>,
    stored: Option<StoredData>,
}

/// Where the data is read from.
#[derive(Debug)]
struct StoredData {
    version: u64,
    database: Arc<Database>,
    shared: Arc<Shared>,
    reading: Mutex<()>,
}

impl StoredData {
    fn read(&self, record: &TableRecord) -> Result<Arc<TableData>> {
        let logs = self.shared.logs.of_table(record.id);
        let reader = CatalogReader::begin(&self.database)?;
        read_table(&reader, record, self.version, &self.shared, logs).map(Arc::new)
    }
}

/// What a table is made of. Never changes.
#[derive(Debug, Clone)]
pub struct TableData {
    /// The declared schema, which the segments' physical schemas may differ from.
    pub(crate) schema: SchemaRef,
    pub(crate) columns: Vec<ColumnInfo>,
    /// By id, which is the order they were begun in.
    pub(crate) segments: BTreeMap<u64, TableSegment>,
    /// By id; the last one takes new rows, if it is not closed.
    pub(crate) logs: BTreeMap<u64, TableLog>,
    /// Of a transaction that is not committed.
    pub(crate) pending: Vec<PendingRows>,
    /// Schemas it had while one version was made, as they are stored: rows were written by them. With that
    /// version, so that those of an older one are known to be in the catalog.
    pub(crate) earlier_schemas: BTreeMap<u32, (u64, Arc<Schema>)>,
}

/// A segment as one version of its table has it.
#[derive(Debug, Clone)]
pub struct TableSegment {
    pub(crate) record: Arc<SegmentRecord>,
    pub(crate) handle: Arc<SegmentHandle>,
    pub(crate) deletions: Option<Arc<Deletions>>,
    pub(crate) columns: Option<Arc<[Option<usize>]>>,
}

impl TableSegment {
    pub fn id(&self) -> u64 {
        self.record.sealed.id
    }

    pub fn record(&self) -> &SegmentRecord {
        &self.record
    }

    pub fn path(&self) -> &Path {
        self.handle.path()
    }

    pub fn handle(&self) -> &SegmentHandle {
        &self.handle
    }

    /// The rows that this version does not have any more.
    pub fn deletions(&self) -> Option<&Arc<Deletions>> {
        self.deletions.as_ref()
    }

    /// For each column of the table, its place in the segment; None for one that the segment was
    /// written before. Absent where the segment has the columns as the table has them.
    pub fn columns(&self) -> Option<&Arc<[Option<usize>]>> {
        self.columns.as_ref()
    }

    /// Rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        self.record.sealed.row_count - self.deletions.as_ref().map_or(0, |deletions| deletions.len())
    }

    pub fn open(&self) -> Result<Arc<Segment>> {
        self.handle.open()
    }
}

impl TableData {
    /// Of a segment, a log or pending rows.
    pub(crate) fn deletions_of(&self, id: u64) -> Option<&Arc<Deletions>> {
        if let Some(segment) = self.segments.get(&id) {
            return segment.deletions.as_ref();
        }
        if let Some(log) = self.logs.get(&id) {
            return log.deletions.as_ref();
        }
        self.pending.iter().find(|pending| pending.id == id)?.deletions.as_ref()
    }

    /// Where the deleted rows of a segment, a log or pending rows are kept.
    pub(crate) fn deletions_of_mut(&mut self, id: u64) -> Option<&mut Option<Arc<Deletions>>> {
        if let Some(segment) = self.segments.get_mut(&id) {
            return Some(&mut segment.deletions);
        }
        if let Some(log) = self.logs.get_mut(&id) {
            return Some(&mut log.deletions);
        }
        self.pending.iter_mut().find(|pending| pending.id == id).map(|pending| &mut pending.deletions)
    }

    pub(crate) fn empty(schema: &SchemaRef) -> TableData {
        let schema = Arc::clone(schema);
        TableData {
            schema,
            columns: Vec::new(),
            segments: BTreeMap::new(),
            logs: BTreeMap::new(),
            pending: Vec::new(),
            earlier_schemas: BTreeMap::new(),
        }
    }
}

impl TableState {
    pub fn new(record: TableRecord, data: TableData) -> TableState {
        TableState { record, data: OnceLock::from(Arc::new(data)), stored: None }
    }

    pub fn stored(record: TableRecord, version: u64, database: &Arc<Database>, shared: &Arc<Shared>) -> TableState {
        let (database, shared) = (Arc::clone(database), Arc::clone(shared));
        let stored = StoredData { version, database, shared, reading: Mutex::new(()) };
        TableState { record, data: OnceLock::new(), stored: Some(stored) }
    }

    /// What it is made of, if that was read already.
    pub fn loaded(&self) -> Option<&Arc<TableData>> {
        self.data.get()
    }

    /// What it is made of, read on first use. Right also after later commits: what they removed is
    /// still in the catalog with the version that removed it. A commit that takes a table's history
    /// away reads the table first.
    pub fn data(&self) -> Result<Arc<TableData>> {
        if let Some(data) = self.data.get() {
            return Ok(Arc::clone(data));
        }
        let Some(stored) = &self.stored else { unreachable!("a state without a source was made with its data") };
        let _one_at_a_time = stored.reading.lock();
        if let Some(data) = self.data.get() {
            return Ok(Arc::clone(data));
        }
        let data = stored.read(&self.record)?;
        Ok(Arc::clone(self.data.get_or_init(|| data)))
    }

    /// The same, and what was read for it is not kept: for whoever looks at every table once.
    pub fn glance(&self) -> Result<Arc<TableData>> {
        match (self.data.get(), &self.stored) {
            (None, Some(stored)) => stored.read(&self.record),
            _ => self.data(),
        }
    }
}

/// The table of `record` as of `version`. `logs` are the table's from before `reader` was begun: one
/// that was sealed in between is found as a segment, and not missed.
pub(crate) fn read_table(
    reader: &CatalogReader,
    record: &TableRecord,
    version: u64,
    shared: &Shared,
    logs: Vec<OpenLog>,
) -> Result<TableData> {
    let (schema, columns) = split_columns(&*reader.schema(record.id, record.schema_version)?);
    let mut ids: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut column_ids = |schema_version: u32| -> Result<Vec<u32>> {
        if let Some(known) = ids.get(&schema_version) {
            return Ok(known.clone());
        }
        let (_, columns) = split_columns(&*reader.schema(record.id, schema_version)?);
        let found: Vec<u32> = columns.iter().map(|column| column.id).collect();
        ids.insert(schema_version, found.clone());
        Ok(found)
    };
    let mut segments = BTreeMap::new();
    let stored = reader.segments(record.id)?;
    let sealed: Vec<u64> = stored.iter().map(|segment| segment.sealed.id).collect();
    for segment in stored.into_iter().filter(|segment| segment.is_live_at(version)) {
        let written = column_ids(segment.schema_version)?;
        let mut deletions = reader.deletions_at(record.id, segment.sealed.id, version)?.unwrap_or_default();
        let rows = segment.rows_at(version).ok_or(StoreError::BetweenVersions { version })?;
        // Rows that came later are as if they were deleted.
        deletions.hide(rows as u32..segment.sealed.row_count as u32);
        segments.insert(
            segment.sealed.id,
            TableSegment {
                handle: shared.handle(record.id, &segment.sealed),
                deletions: (!deletions.is_empty()).then(|| Arc::new(deletions)),
                columns: column_places(&columns, &written),
                record: Arc::new(segment),
            },
        );
    }
    let mut open = BTreeMap::new();
    for log in logs {
        let deletions = reader.deletions_at(record.id, log.record.id, version)?;
        if log.record.created_version <= version && !sealed.contains(&log.record.id) {
            log.log.check_whole()?;
            open.insert(
                log.record.id,
                TableLog {
                    deletions: deletions.filter(|deletions| !deletions.is_empty()).map(Arc::new),
                    columns: column_places(&columns, &column_ids(log.record.schema_version)?),
                    record: log.record,
                    log: log.log,
                },
            );
        }
    }
    Ok(TableData { schema, columns, segments, logs: open, pending: Vec::new(), earlier_schemas: BTreeMap::new() })
}

/// Where a segment with the columns `written` has the table's columns; None if just there.
pub(crate) fn column_places(columns: &[ColumnInfo], written: &[u32]) -> Option<Arc<[Option<usize>]>> {
    let places: Vec<Option<usize>> = columns.iter().map(|column| written.iter().position(|id| *id == column.id)).collect();
    let as_they_are = places.len() == written.len() && places.iter().enumerate().all(|(at, place)| *place == Some(at));
    (!as_they_are).then(|| places.into())
}
