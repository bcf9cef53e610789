//! A store: a directory with a catalog, segments and a lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;

use crate::DEFAULT_NAMESPACE;
use crate::catalog::{
    Access, CatalogReader, CatalogWriter, Database, FORMAT_VERSION, READER_FEATURES, StoreRecord, TableId, WRITER_FEATURES,
};
use crate::error::{Result, StoreError};
use crate::files::{self, CATALOG_FILE, SEGMENTS_DIR};
use crate::lock::{LOCK_FILE, LockKind, StoreLock};
use crate::recovery::DirtyMark;
use crate::region::{self, Mode, PoisonFlag, RegionKind};
use crate::segment::{Appender, SealedSegment, remove_segment_files};
use crate::snapshot::{Shared, Snapshot};
use crate::transaction::Transaction;

/// The catalog while a store is made.
const CATALOG_FILE_NEW: &str = "catalog.redb.new";

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Only reads: shares the store with other readers.
    pub read_only: bool,
    /// Makes a store where there is none; the directory must be absent or empty.
    pub create: bool,
    pub region: RegionKind,
    /// Tests only: runs although `PMEM_IS_PMEM_FORCE` is set, which loses acknowledged data.
    pub allow_forced_pmem: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { read_only: false, create: true, region: RegionKind::Auto, allow_forced_pmem: false }
    }
}

#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    mode: Mode,
    options: StoreOptions,
    pub(crate) database: Arc<Database>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) poison: Arc<PoisonFlag>,
    pub(crate) next_segment: Arc<AtomicU64>,
    pub(crate) next_table: AtomicU64,
    /// The snapshot of the last committed version, shared by all who ask for it.
    pub(crate) current: Mutex<Option<Arc<Snapshot>>>,
    dirty: DirtyMark,
}

impl Store {
    pub fn open(path: &Path, options: StoreOptions) -> Result<Store> {
        region::refuse_forced_pmem(options.allow_forced_pmem)?;
        let catalog = path.join(CATALOG_FILE);
        let fresh = !catalog.exists();
        if fresh {
            prepare_new(path, &options)?;
        }
        let lock = StoreLock::acquire(path, if options.read_only { LockKind::Shared } else { LockKind::Exclusive })?;
        // Another process may have made the store while this one waited for the lock.
        let fresh = fresh && !catalog.exists();
        if fresh {
            create(path, &catalog)?;
        }
        let access = if options.read_only { Access::Read } else { Access::Write };
        let database = Arc::new(Database::open(&catalog, access)?);
        let record = CatalogReader::begin(&database)?.store().map_err(|error| StoreError::NotAStore {
            path: path.to_path_buf(),
            reason: error.to_string(),
        })?;
        check_features(path, &record, options.read_only)?;
        let dirty = DirtyMark::new(path);
        if !options.read_only {
            dirty.recover(path, &database)?;
        }
        Ok(Store {
            path: path.to_path_buf(),
            mode: region::detect_mode(path, options.region)?,
            database,
            shared: Arc::new(Shared::new(path.to_path_buf(), lock)),
            poison: PoisonFlag::new(),
            next_segment: Arc::new(AtomicU64::new(record.next_segment)),
            next_table: AtomicU64::new(record.next_table),
            current: Mutex::new(None),
            dirty,
            options,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a write to this store is made durable by.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    /// The last committed version. Cheap: readers of one version share a snapshot.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        let mut current = self.current.lock();
        if let Some(snapshot) = current.as_ref() {
            return Ok(Arc::clone(snapshot));
        }
        let snapshot = Arc::new(Snapshot::new(CatalogReader::begin(&self.database)?, &self.shared)?);
        *current = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// An id no table has or had: where the rows of a table to be created can be written first.
    pub fn new_table_id(&self) -> TableId {
        self.next_table.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes rows of the physical schema `schema` for `table`; nobody sees them before a
    /// [`Transaction`] adds the segments that [`Appender::finish`] returns.
    pub fn appender(&self, table: TableId, schema: SchemaRef) -> Result<Appender> {
        self.check_writable()?;
        self.dirty.set()?;
        let dir = files::table_dir(&self.path, table);
        let next = Arc::clone(&self.next_segment);
        let locked = Arc::clone(&self.shared);
        Ok(Appender::new(dir, schema, self.options.region, Arc::clone(&self.poison), next, locked))
    }

    /// Removes sealed segments that will not be committed.
    pub fn discard(&self, table: TableId, segments: &[SealedSegment]) {
        for segment in segments {
            remove_segment_files(&files::segment_path(&self.path, table, segment.id));
        }
    }

    /// Waits for the one other writer, if there is one.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.check_writable()?;
        self.dirty.set()?;
        Ok(Transaction::new(self, CatalogWriter::begin(&self.database)?))
    }

    fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(StoreError::ReadOnly(self.path.clone()));
        }
        self.poison.check().map_err(StoreError::from)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.current.lock().take();
        self.shared.purge();
        // While a reader or an appender lives, so do its files: the mark stays for the next open.
        let is_last = Arc::strong_count(&self.shared) == 1;
        if !self.options.read_only && is_last {
            self.dirty.clear(&self.path, &self.database);
        }
    }
}

fn prepare_new(path: &Path, options: &StoreOptions) -> Result<()> {
    if !options.create || options.read_only {
        return Err(match path.exists() {
            true => not_a_store(path, "it has no catalog.redb"),
            false => StoreError::NotFound(path.to_path_buf()),
        });
    }
    if path.exists() {
        let entries = std::fs::read_dir(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotADirectory => not_a_store(path, "it is a file, not a directory"),
            _ => StoreError::io("read", path, error),
        })?;
        // What another process making the same store now, or one that crashed, left does not count.
        let counts = |name: std::ffi::OsString| name != LOCK_FILE && name != CATALOG_FILE_NEW;
        if entries.flatten().any(|entry| counts(entry.file_name())) {
            return Err(not_a_store(path, "the directory has other files and no catalog.redb"));
        }
        return Ok(());
    }
    files::create_dir(path)
}

fn not_a_store(path: &Path, reason: &str) -> StoreError {
    StoreError::NotAStore { path: path.to_path_buf(), reason: reason.to_string() }
}

/// The catalog gets its name when it is whole: a crash before leaves no store, and no need to repair one.
fn create(path: &Path, catalog: &Path) -> Result<()> {
    let unfinished = path.join(CATALOG_FILE_NEW);
    if unfinished.exists() {
        fs::remove_file(&unfinished).map_err(|error| StoreError::io("remove", &unfinished, error))?;
    }
    let record = StoreRecord {
        format_version: FORMAT_VERSION,
        reader_features: READER_FEATURES,
        writer_features: WRITER_FEATURES,
        created_at_ms: now_ms(),
        version: 0,
        next_table: 1,
        next_segment: 1,
    };
    Database::open(&unfinished, Access::Create)?.initialise(&record, DEFAULT_NAMESPACE)?;
    fs::rename(&unfinished, catalog).map_err(|error| StoreError::io("rename", &unfinished, error))?;
    files::sync_dir(path)?;
    // Only now: segments without a catalog are somebody's data, and no place for a new store.
    files::create_dir(&path.join(SEGMENTS_DIR))?;
    files::sync_dir(path)
}

/// A reader flag stops readers and writers, a writer flag only writers.
fn check_features(path: &Path, record: &StoreRecord, read_only: bool) -> Result<()> {
    let unknown = |role, feature| StoreError::NewerFormat { path: path.to_path_buf(), role, feature };
    let reader = record.reader_features & !READER_FEATURES;
    if reader != 0 {
        return Err(unknown("reader", reader));
    }
    let writer = record.writer_features & !WRITER_FEATURES;
    if writer != 0 && !read_only {
        return Err(unknown("writer", writer));
    }
    if record.format_version > FORMAT_VERSION {
        return Err(StoreError::NewerVersion {
            path: path.to_path_buf(),
            found: record.format_version,
            known: FORMAT_VERSION,
        });
    }
    Ok(())
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}
