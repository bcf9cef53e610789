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

/// Where to read the data from.
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

/// The content of a table. It never changes.
#[derive(Debug, Clone)]
pub struct TableData {
    /// The declared schema; the physical schemas of the segments may differ from it.
    pub(crate) schema: SchemaRef,
    pub(crate) columns: Vec<ColumnInfo>,
    /// By id, which is the order in which they were begun.
    pub(crate) segments: BTreeMap<u64, TableSegment>,
    /// By id; the last one takes new rows, unless it is closed.
    pub(crate) logs: BTreeMap<u64, TableLog>,
    /// The rows of an uncommitted transaction.
    pub(crate) pending: Vec<PendingRows>,
    /// Schemas that it had while one version was made, in their stored form: rows were written with them. The version tells
    /// them from schemas of older versions, which are in the catalog already.
    pub(crate) earlier_schemas: BTreeMap<u32, (u64, Arc<Schema>)>,
}

/// A segment as one version of its table sees it.
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

    /// The rows that this version has deleted.
    pub fn deletions(&self) -> Option<&Arc<Deletions>> {
        self.deletions.as_ref()
    }

    /// For each column of the table, its index in the segment; `None` if the segment was
    /// written before the column was added. Absent if the segment has the columns of the table.
    pub fn columns(&self) -> Option<&Arc<[Option<usize>]>> {
        self.columns.as_ref()
    }

    /// The number of rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        self.record.sealed.row_count - self.deletions.as_ref().map_or(0, |deletions| deletions.len())
    }

    pub fn open(&self) -> Result<Arc<Segment>> {
        self.handle.open()
    }
}

impl TableData {
    /// The deleted rows of a segment, a log or pending rows.
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

    /// The content, if it was read already.
    pub fn loaded(&self) -> Option<&Arc<TableData>> {
        self.data.get()
    }

    /// The content, read on first use. It is right even after later commits: what they removed is
    /// still in the catalog with the version that removed it. A commit that removes a table's history
    /// reads the table first.
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

    /// The same, without keeping what was read: for a caller that looks at every table once.
    pub fn glance(&self) -> Result<Arc<TableData>> {
        match (self.data.get(), &self.stored) {
            (None, Some(stored)) => stored.read(&self.record),
            _ => self.data(),
        }
    }
}

/// Reads the table of `record` as of `version`. `logs` are the table's logs from before `reader` was begun: so a
/// log that was sealed in between is found as a segment, and not missed.
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
        if let Some(column_list) = ids.get(&schema_version) {
            return Ok(column_list.clone());
        }
        let (_, columns) = split_columns(&*reader.schema(record.id, schema_version)?);
        let column_list: Vec<u32> = columns.iter().map(|column| column.id).collect();
        ids.insert(schema_version, column_list.clone());
        Ok(column_list)
    };
    let mut segments = BTreeMap::new();
    let stored = reader.segments(record.id)?;
    let sealed: Vec<u64> = stored.iter().map(|segment| segment.sealed.id).collect();
    for segment in stored.into_iter().filter(|segment| segment.is_live_at(version)) {
        let written = column_ids(segment.schema_version)?;
        let mut deletions = reader.deletions_at(record.id, segment.sealed.id, version)?.unwrap_or_default();
        let rows = segment.rows_at(version).ok_or(StoreError::BetweenVersions { version })?;
        // Rows that were added later are treated as deleted.
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

/// The indices of the table's columns in a segment with the columns `written`; `None` if they are the same.
pub(crate) fn column_places(columns: &[ColumnInfo], written: &[u32]) -> Option<Arc<[Option<usize>]>> {
    let places: Vec<Option<usize>> = columns.iter().map(|column| written.iter().position(|id| *id == column.id)).collect();
    let as_they_are = places.len() == written.len() && places.iter().enumerate().all(|(at, place)| *place == Some(at));
    (!as_they_are).then(|| places.into())
}
