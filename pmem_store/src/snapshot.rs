//! What a reader sees: the catalog at one version, and the segments it names.
//!
//! Invariant: while a [`Pin`] of version v is alive, no file that version v names is removed. So
//! neither DROP nor compaction disturbs a reader.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;

use crate::catalog::{CatalogReader, SegmentRecord, TableId, TableRecord, ViewRecord};
use crate::error::Result;
use crate::files;
use crate::lock::StoreLock;
use crate::segment::{Segment, remove_segment_files};

/// Segments that the catalog no longer names, waiting for the last reader of an older version.
#[derive(Debug, Default)]
pub(crate) struct Graveyard {
    /// Live versions and how many pins hold each.
    live: BTreeMap<u64, usize>,
    /// (version that removed them, their files)
    graves: Vec<(u64, Vec<PathBuf>)>,
}

impl Graveyard {
    pub fn bury(&mut self, version: u64, files: Vec<PathBuf>) {
        self.graves.push((version, files));
    }

    /// Takes out what no living reader can name.
    fn exhume(&mut self) -> Vec<PathBuf> {
        let oldest = self.live.keys().next().copied().unwrap_or(u64::MAX);
        let (free, kept) = std::mem::take(&mut self.graves).into_iter().partition(|(version, _)| *version <= oldest);
        self.graves = kept;
        let free: Vec<(u64, Vec<PathBuf>)> = free;
        free.into_iter().flat_map(|(_, files)| files).collect()
    }
}

/// What snapshots of one store share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub store: PathBuf,
    pub graveyard: Mutex<Graveyard>,
    /// The last state read of each table; reused while its record has not changed.
    tables: Mutex<HashMap<TableId, Arc<TableData>>>,
    handles: Mutex<HashMap<(TableId, u64), Arc<SegmentHandle>>>,
    /// Released with the last reader or appender, which may outlive the store.
    _lock: StoreLock,
}

impl Shared {
    pub fn new(store: PathBuf, lock: StoreLock) -> Self {
        Shared { store, graveyard: Mutex::default(), tables: Mutex::default(), handles: Mutex::default(), _lock: lock }
    }

    /// Removes the files of segments nobody can read any more.
    pub fn purge(&self) {
        let files = self.graveyard.lock().exhume();
        if files.is_empty() {
            return;
        }
        // An old reader may have put them back after `forget_table`; nobody can ask for them any more.
        let gone: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        self.tables.lock().retain(|_, data| data.segments.iter().all(|handle| !gone.contains(handle.path())));
        self.handles.lock().retain(|_, handle| !gone.contains(handle.path()));
        for path in &files {
            remove_segment_files(path);
            if let Some(dir) = path.parent() {
                // Succeeds with the last segment of a dropped table, fails harmlessly before.
                let _ = std::fs::remove_dir(dir);
            }
        }
    }

    pub fn forget_table(&self, table: TableId) {
        self.tables.lock().remove(&table);
        self.handles.lock().retain(|(owner, _), _| *owner != table);
    }

    fn handle(&self, table: TableId, record: SegmentRecord) -> Arc<SegmentHandle> {
        let mut handles = self.handles.lock();
        let handle = handles.entry((table, record.sealed.id)).or_insert_with(|| {
            let path = files::segment_path(&self.store, table, record.sealed.id);
            Arc::new(SegmentHandle { record, path, segment: OnceLock::new(), opening: Mutex::new(()) })
        });
        Arc::clone(handle)
    }
}

/// Keeps a version's files in place.
#[derive(Debug)]
struct Pin {
    version: u64,
    shared: Arc<Shared>,
}

impl Pin {
    fn new(version: u64, shared: &Arc<Shared>) -> Arc<Pin> {
        *shared.graveyard.lock().live.entry(version).or_insert(0) += 1;
        Arc::new(Pin { version, shared: Arc::clone(shared) })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut graveyard = self.shared.graveyard.lock();
        if let Some(count) = graveyard.live.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                graveyard.live.remove(&self.version);
            }
        }
        let pending = !graveyard.graves.is_empty();
        drop(graveyard);
        if pending {
            self.shared.purge();
        }
    }
}

/// A sealed segment that may or may not be mapped yet.
#[derive(Debug)]
pub struct SegmentHandle {
    record: SegmentRecord,
    path: PathBuf,
    segment: OnceLock<Arc<Segment>>,
    opening: Mutex<()>,
}

impl SegmentHandle {
    pub fn record(&self) -> &SegmentRecord {
        &self.record
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Maps the segment on first use.
    pub fn open(&self) -> Result<Arc<Segment>> {
        if let Some(segment) = self.segment.get() {
            return Ok(Arc::clone(segment));
        }
        let _one_at_a_time = self.opening.lock();
        if let Some(segment) = self.segment.get() {
            return Ok(Arc::clone(segment));
        }
        let segment = Arc::new(Segment::open(&self.path, &self.record.sealed)?);
        Ok(Arc::clone(self.segment.get_or_init(|| segment)))
    }
}

#[derive(Debug)]
struct TableData {
    record: TableRecord,
    schema: SchemaRef,
    segments: Vec<Arc<SegmentHandle>>,
}

/// A table at one version.
#[derive(Debug, Clone)]
pub struct TableSnapshot {
    data: Arc<TableData>,
    pin: Arc<Pin>,
}

impl TableSnapshot {
    pub fn record(&self) -> &TableRecord {
        &self.data.record
    }

    pub fn version(&self) -> u64 {
        self.pin.version
    }

    /// The declared schema, which the segments' physical schemas may differ from.
    pub fn schema(&self) -> &SchemaRef {
        &self.data.schema
    }

    /// In the order they were added.
    pub fn segments(&self) -> &[Arc<SegmentHandle>] {
        &self.data.segments
    }

    pub fn row_count(&self) -> u64 {
        self.data.segments.iter().map(|segment| segment.record.sealed.row_count).sum()
    }

    /// Bytes of the segments and of what lies beside them.
    pub fn size_bytes(&self) -> u64 {
        let sealed = self.data.segments.iter().map(|segment| &segment.record.sealed);
        sealed.map(|sealed| sealed.size_bytes + sealed.side_size_bytes).sum()
    }
}

/// The store at one version.
#[derive(Debug)]
pub struct Snapshot {
    reader: CatalogReader,
    pin: Arc<Pin>,
}

impl Snapshot {
    pub(crate) fn new(reader: CatalogReader, shared: &Arc<Shared>) -> Result<Snapshot> {
        let version = reader.store()?.version;
        Ok(Snapshot { reader, pin: Pin::new(version, shared) })
    }

    pub fn version(&self) -> u64 {
        self.pin.version
    }

    pub fn namespaces(&self) -> Result<Vec<String>> {
        self.reader.namespaces()
    }

    /// Every table, without its segments.
    pub fn tables(&self) -> Result<Vec<TableRecord>> {
        self.reader.tables()
    }

    pub fn views(&self) -> Result<Vec<ViewRecord>> {
        self.reader.views()
    }

    pub fn view(&self, namespace: &str, name: &str) -> Result<Option<ViewRecord>> {
        self.reader.view(namespace, name)
    }

    pub fn table(&self, namespace: &str, name: &str) -> Result<Option<TableSnapshot>> {
        let Some(record) = self.reader.table(namespace, name)? else { return Ok(None) };
        let shared = &self.pin.shared;
        let known = shared.tables.lock().get(&record.id).filter(|data| data.record == record).cloned();
        let data = match known {
            Some(data) => data,
            None => {
                let schema = self.reader.schema(record.id, record.schema_version)?;
                let segments = self.reader.segments(record.id)?.into_iter();
                let segments = segments.map(|segment| shared.handle(record.id, segment)).collect();
                let data = Arc::new(TableData { record, schema, segments });
                shared.tables.lock().insert(data.record.id, Arc::clone(&data));
                data
            }
        };
        Ok(Some(TableSnapshot { data, pin: Arc::clone(&self.pin) }))
    }
}
