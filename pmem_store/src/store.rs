//! A store: a directory with a catalog, segments and a lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::datatypes::SchemaRef;
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::DEFAULT_NAMESPACE;
use crate::access;
use crate::backup;
use crate::catalog::{
    Access, CatalogReader, CatalogWriter, DEFAULT_RETENTION_MS, Database, FORMAT_VERSION, READER_FEATURES, StoreRecord, TableId,
    WRITER_FEATURES, new_store_id,
};
use crate::closed::Closed;
use crate::error::{Result, StoreError};
use crate::files::{self, CATALOG_FILE, SEGMENTS_DIR};
use crate::lock::{LOCK_FILE, LockKind, StoreLock};
use crate::publisher::Publisher;
use crate::recovery::DirtyMark;
use crate::region::{self, Mode, PoisonFlag, RegionKind};
use crate::requests;
use crate::segment::{Appender, SealedSegment, remove_segment_files};
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::state::CatalogState;
use crate::transaction::Transaction;

/// The catalog while a store is made.
pub(crate) const CATALOG_FILE_NEW: &str = "catalog.redb.new";

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Only reads: shares the store with other readers.
    pub read_only: bool,
    /// Makes a store where there is none; the directory must be absent or empty.
    pub create: bool,
    pub region: RegionKind,
    /// Goes on without what damage has taken from logs, or from the catalog's last versions; without this they are
    /// errors for who reads, and nothing is written over them.
    pub accept_loss: bool,
    /// Tests only: runs although `PMEM_IS_PMEM_FORCE` is set, which loses acknowledged data.
    pub allow_forced_pmem: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { read_only: false, create: true, region: RegionKind::Auto, accept_loss: false, allow_forced_pmem: false }
    }
}

/// An open store. Cheap to clone: clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) core: Arc<StoreCore>,
}

/// What a store and its transactions share.
#[derive(Debug)]
pub(crate) struct StoreCore {
    path: PathBuf,
    mode: Mode,
    options: StoreOptions,
    pub database: Arc<Database>,
    pub shared: Arc<Shared>,
    pub poison: Arc<PoisonFlag>,
    pub next_segment: Arc<AtomicU64>,
    pub next_table: AtomicU64,
    /// See [`StoreCore::lock_commits`].
    pub commits: Mutex<()>,
    /// Held while logs become segments: two of one id would be written over each other.
    pub sealing: Mutex<()>,
    pub publisher: Publisher,
    /// Written while the commits are locked.
    pub access: RwLock<Arc<access::Access>>,
    dirty: DirtyMark,
    /// What it was when it was closed before.
    closed: Closed,
    given_up: Vec<String>,
}

impl Store {
    pub fn open(path: &Path, options: StoreOptions) -> Result<Store> {
        region::refuse_forced_pmem(options.allow_forced_pmem)?;
        let catalog = path.join(CATALOG_FILE);
        let fresh = !is_there(&catalog)?;
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
        let mut database = Arc::new(Database::open(&catalog, access)?);
        let record = CatalogReader::begin(&database)?
            .store()
            .map_err(|error| StoreError::NotAStore { path: path.to_path_buf(), reason: error.to_string() })?;
        check_features(path, &record, options.read_only)?;
        let closed = Closed::read(path).unwrap_or_else(|error| {
            tracing::warn!(%error, "nothing is known of how the store was closed");
            Closed::default()
        });
        let expected = if options.accept_loss { Closed::default() } else { closed.clone() };
        // Before anything is removed because the catalog does not name it.
        expected.check_version(&catalog, record.version)?;
        let dirty = DirtyMark::new(path);
        if !options.read_only {
            requests::begin_anew(path);
            dirty.recover(path, &database)?;
            if let Err(error) = give_id(&database) {
                // It can be read and written without; a backup asks for it.
                tracing::warn!(path = %path.display(), %error, "could not give an id to a store of before backups");
                // After a failed write this one refuses also to read.
                drop(database);
                database = Arc::new(Database::open(&catalog, access)?);
            }
        }
        let poison = Arc::clone(database.poison());
        let shared = Arc::new(Shared::new(path.to_path_buf(), lock, &poison));
        let reader = CatalogReader::begin(&database)?;
        let version = shared.logs.open_all(path, &reader, options.region, &poison, options.read_only, &expected)?;
        let users = access::Access::load(&reader)?;
        drop(reader);
        let (state, _) = CatalogState::load(&database, &shared)?;
        let given_up = if options.accept_loss { closed.missing(record.version, &shared.logs.infos()) } else { Vec::new() };
        let core = StoreCore {
            path: path.to_path_buf(),
            mode: region::detect_mode(path, options.region)?,
            database,
            shared,
            publisher: Publisher::new(state, version, &poison),
            poison,
            next_segment: Arc::new(AtomicU64::new(record.next_segment)),
            next_table: AtomicU64::new(record.next_table),
            commits: Mutex::new(()),
            sealing: Mutex::new(()),
            access: RwLock::new(Arc::new(users)),
            dirty,
            closed,
            given_up,
            options,
        };
        Ok(Store { core: Arc::new(core) })
    }

    pub fn path(&self) -> &Path {
        &self.core.path
    }

    /// What a write to this store is made durable by.
    pub fn mode(&self) -> Mode {
        self.core.mode
    }

    pub fn is_read_only(&self) -> bool {
        self.core.options.read_only
    }

    /// What failed, if a write to the disk has: from then on nothing is written until the store is opened again.
    pub fn poisoned(&self) -> Option<String> {
        self.core.poison.reason().map(str::to_string)
    }

    /// What it goes on without, a sentence each; see [`StoreOptions::accept_loss`].
    pub fn given_up(&self) -> &[String] {
        &self.core.given_up
    }

    /// The last committed version. Cheap: readers of one version share a snapshot.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(self.core.snapshot())
    }

    /// An id no table has or had: where the rows of a table to be created can be written first.
    pub fn new_table_id(&self) -> TableId {
        self.core.next_table.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes rows of the physical schema `schema` for `table`; nobody sees them before a
    /// [`Transaction`] adds the segments that [`Appender::finish`] returns.
    pub fn appender(&self, table: TableId, schema: SchemaRef) -> Result<Appender> {
        let core = &self.core;
        core.check_writable()?;
        core.mark_dirty()?;
        let dir = files::table_dir(&core.path, table);
        let next = Arc::clone(&core.next_segment);
        let locked = Arc::clone(&core.shared);
        Ok(Appender::new(dir, schema, core.options.region, Arc::clone(&core.poison), next, locked))
    }

    /// Makes durable what was appended with [`Durability::Async`] until now.
    pub fn flush(&self) -> Result<()> {
        self.core.check_writable()?;
        self.core.shared.logs.flush()
    }

    /// Removes sealed segments that will not be committed.
    pub fn discard(&self, table: TableId, segments: &[SealedSegment]) {
        self.core.discard(table, segments);
    }

    /// A transaction on the last committed version. It waits for nobody and holds up nobody.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_at(self.core.snapshot())
    }

    /// A transaction that is not going to change anything, also of a store that is only read.
    pub fn begin_read_only(&self) -> Transaction {
        Transaction::new(Arc::clone(&self.core), self.core.snapshot())
    }

    /// A transaction on an older version: for changes found by reading that one.
    pub fn begin_at(&self, base: Arc<Snapshot>) -> Result<Transaction> {
        self.core.check_writable()?;
        self.core.mark_dirty()?;
        Ok(Transaction::new(Arc::clone(&self.core), base))
    }
}

impl StoreCore {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.publisher.snapshot(&self.shared)
    }

    pub fn region_kind(&self) -> RegionKind {
        self.options.region
    }

    /// Files may be left that nobody names, from here on.
    pub fn mark_dirty(&self) -> Result<()> {
        self.dirty.set(&self.poison)
    }

    pub fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(StoreError::ReadOnly(self.path.clone()));
        }
        self.poison.check().map_err(StoreError::from)
    }

    /// Held from the check for conflicts to the publish. What another commit left open stops this one too.
    pub fn lock_commits(&self) -> Result<MutexGuard<'_, ()>> {
        let commits = self.commits.lock();
        self.poison.check()?;
        Ok(commits)
    }

    /// On close, when all is durable.
    fn note_end(&self) {
        if self.check_writable().is_err() {
            return;
        }
        let version = CatalogReader::begin(&self.database).and_then(|reader| reader.store()).map(|record| record.version);
        let noted = version.map(|version| Closed { version, logs: self.shared.logs.ends() });
        let written = noted.and_then(|closed| if closed == self.closed { Ok(()) } else { closed.write(&self.path, &self.poison) });
        if let Err(error) = written {
            // What was noted before holds.
            tracing::warn!(%error, "could not note how the store was closed");
        }
    }

    pub fn discard(&self, table: TableId, segments: &[SealedSegment]) {
        for segment in segments {
            self.shared.forget(table, segment.id);
            if !self.poison.is_set() {
                remove_segment_files(&files::segment_path(&self.path, table, segment.id));
            }
        }
    }
}

impl Drop for StoreCore {
    fn drop(&mut self) {
        self.shared.logs.close();
        match self.shared.logs.flush() {
            Ok(()) => self.note_end(),
            Err(error) => tracing::error!(%error, "rows appended last could not be made durable"),
        }
        self.publisher.close();
        self.shared.purge();
        // While a reader or an appender lives, so do its files: the mark stays for the next open. So it does where something
        // failed, perhaps a commit that is in the file all the same: only who opens it anew sees what it names.
        let is_last = Arc::strong_count(&self.shared) == 1;
        if !self.options.read_only && is_last && !self.poison.is_set() {
            self.dirty.clear(&self.path, &self.database);
        }
    }
}

fn prepare_new(path: &Path, options: &StoreOptions) -> Result<()> {
    if backup::is_backup(path) {
        return Err(not_a_store(path, "it is a backup, which `quiver restore` makes a store of"));
    }
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
    files::create_private_dir(path)
}

/// The directory of a store may be closed to who asks: then it is not said that there is none.
fn is_there(catalog: &Path) -> Result<bool> {
    match catalog.try_exists() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(StoreError::io("open", catalog, error)),
        there => Ok(there.unwrap_or(false)),
    }
}

/// A store of before ids gets one.
fn give_id(database: &Arc<Database>) -> Result<()> {
    if CatalogReader::begin(database)?.store_id()?.is_some() {
        return Ok(());
    }
    let writer = CatalogWriter::begin(database)?;
    writer.put_store_id(&new_store_id())?;
    writer.commit_unversioned("the store's id")
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
        oldest_version: 0,
        retention_ms: DEFAULT_RETENTION_MS,
    };
    Database::open(&unfinished, Access::Create)?.initialise(&record, DEFAULT_NAMESPACE)?;
    fs::rename(&unfinished, catalog).map_err(|error| StoreError::io("rename", &unfinished, error))?;
    files::sync_dir(path)?;
    // Only now: segments without a catalog are somebody's data, and no place for a new store.
    files::create_dir(&path.join(SEGMENTS_DIR))?;
    files::sync_dir(path)
}

/// A reader flag stops readers and writers, a writer flag only writers.
pub(crate) fn check_features(path: &Path, record: &StoreRecord, read_only: bool) -> Result<()> {
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
        return Err(StoreError::NewerVersion { path: path.to_path_buf(), found: record.format_version, known: FORMAT_VERSION });
    }
    Ok(())
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}
