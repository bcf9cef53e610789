//! Opening and creating a store. Opening reads no segment.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, RwLock};

use crate::DEFAULT_NAMESPACE;
use crate::access;
use crate::backup;
use crate::catalog::{
    Access, CatalogReader, CatalogWriter, DEFAULT_RETENTION_MS, Database, FEATURE_VERSIONS, FORMAT_VERSION, PrefetchSettings, StoreRecord,
    WRITER_FEATURES, check_features, new_store_id,
};
use crate::clock::now_ms;
use crate::close_record::CloseRecord;
use crate::error::{Result, StoreError};
use crate::files::{self, CATALOG_FILE, CATALOG_FILE_NEW, SEGMENTS_DIR};
use crate::lock::{LOCK_FILE, LockKind, StoreLock};
use crate::log::LogIdentity;
use crate::logs::OpenLogs;
use crate::publisher::Publisher;
use crate::recovery::DirtyMark;
use crate::region::{self, RegionKind};
use crate::requests::{self, Lease};
use crate::shared::{Claim, Shared};
use crate::state::CatalogState;
use crate::store::{Store, StoreCore, StoreOptions};

impl Store {
    /// Whether a directory has a store.
    pub fn exists(path: &Path) -> bool {
        path.join(CATALOG_FILE).is_file()
    }

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
        let closed = match CloseRecord::read(path) {
            Ok(closed) => closed,
            // A writer would make final what the unread note may say is lost.
            Err(error @ StoreError::Io { .. }) if !options.read_only && !options.accept_loss => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "nothing is known of how the store was closed");
                CloseRecord::default()
            }
        };
        let accepts_loss = options.accept_loss && !options.read_only;
        let expected = if accepts_loss { CloseRecord::default() } else { closed.clone() };
        // Before anything is removed because the catalog does not name it.
        expected.check_version(&catalog, record.version)?;
        let dirty = DirtyMark::new(path);
        if !options.read_only {
            requests::begin_anew(path);
            dirty.recover(path, &database)?;
            if let Err(error) = give_ids(&database) {
                // It can be read and written without; a backup and the tags of a view need them.
                tracing::warn!(path = %path.display(), %error, "could not give ids to an older store and its views");
                // After a failed write this one refuses also to read.
                drop(database);
                database = Arc::new(Database::open(&catalog, access)?);
            }
        }
        let poison = Arc::clone(database.poison());
        let given_up = if accepts_loss { accept_losses(path, &database, &closed, &dirty)? } else { Vec::new() };
        let shared = Arc::new(Shared::new(path.to_path_buf(), Claim::Lock(lock), &poison));
        let mut core = core_of(path, options, database, shared, &expected)?;
        (core.dirty, core.closed, core.given_up) = (dirty, closed, given_up);
        let store = Store { core: Arc::new(core) };
        store.use_memory_limit()?;
        Ok(store)
    }

    /// Opens the version of a lease for reading, while another process writes. The files of the version stay until the store is closed.
    pub fn open_leased(path: &Path, options: StoreOptions, lease: Lease) -> Result<Store> {
        region::refuse_forced_pmem(options.allow_forced_pmem)?;
        let options = StoreOptions { read_only: true, ..options };
        let database = Arc::new(Database::open(&lease.catalog(), Access::Read)?);
        check_features(path, &CatalogReader::begin(&database)?.store()?, true)?;
        let shared = Arc::new(Shared::new(path.to_path_buf(), Claim::Lease(lease), database.poison()));
        // The record of the last close may be of a later version by now. The process that gave the lease has checked the logs.
        let core = core_of(path, options, database, shared, &CloseRecord::default())?;
        let store = Store { core: Arc::new(core) };
        store.use_memory_limit()?;
        Ok(store)
    }
}

/// The state of the store with this catalog, whose logs have at least what `expected` says.
fn core_of(path: &Path, options: StoreOptions, database: Arc<Database>, shared: Arc<Shared>, expected: &CloseRecord) -> Result<StoreCore> {
    let poison = Arc::clone(database.poison());
    let reader = CatalogReader::begin(&database)?;
    let record = reader.store()?;
    let last = shared.logs.open_all(path, &reader, options.region, &poison, options.read_only, expected)?;
    let version = shared.claim.leased_version().unwrap_or(last);
    let users = access::Access::load(&reader)?;
    drop(reader);
    let (state, _) = CatalogState::load(&database, &shared)?;
    Ok(StoreCore {
        path: path.to_path_buf(),
        mode: region::detect_mode(path, options.region)?,
        database,
        shared,
        publisher: Publisher::new(state, version, &poison),
        poison,
        next_segment: Arc::new(AtomicU64::new(record.next_segment)),
        next_table: AtomicU64::new(record.next_table),
        durable_next_table: AtomicU64::new(record.next_table),
        commits: Mutex::new(()),
        sealing: Mutex::new(()),
        access: RwLock::new(Arc::new(users)),
        dirty: DirtyMark::new(path),
        closed: CloseRecord::default(),
        given_up: Vec::new(),
        options,
    })
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

/// The user may lack permission to enter the directory. The error must not say then that there is no store.
fn is_there(catalog: &Path) -> Result<bool> {
    match catalog.try_exists() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(StoreError::io("open", catalog, error)),
        there => Ok(there.unwrap_or(false)),
    }
}

/// Goes on without what damage has taken of the logs, and of the catalog's versions; a sentence each. A log of which nothing
/// can be read is named no more, so that its file goes when the store is closed.
fn accept_losses(path: &Path, database: &Arc<Database>, closed: &CloseRecord, dirty: &DirtyMark) -> Result<Vec<String>> {
    let (logs, reader) = (OpenLogs::default(), CatalogReader::begin(database)?);
    logs.open_all(path, &reader, RegionKind::Auto, database.poison(), true, closed)?;
    let damages = logs.damages();
    if !damages.is_empty() {
        dirty.set(database.poison())?;
        let writer = CatalogWriter::begin(database)?;
        for log in &damages {
            let LogIdentity { table, log: id, .. } = log.identity();
            match log.rebuild()? {
                true => writer.truncate_deletions(table, id, log.rows_at(u64::MAX))?,
                false => {
                    writer.remove_log(table, id)?;
                    // What was deleted of it.
                    writer.remove_segment(table, id)?;
                }
            }
        }
        writer.commit_unversioned("the loss of logs")?;
    }
    let older = closed.missing_versions(reader.store()?.version);
    let given_up: Vec<String> = older.into_iter().chain(damages.iter().filter_map(|log| log.loss())).collect();
    if !given_up.is_empty() {
        // What comes from here on is not measured by what the store had: it may be killed before it is closed again.
        CloseRecord::default().write(path, database.poison())?;
    }
    Ok(given_up)
}

/// A store of before ids gets one, and so do its views.
fn give_ids(database: &Arc<Database>) -> Result<()> {
    let reader = CatalogReader::begin(database)?;
    let mut views = reader.views()?;
    views.retain(|view| view.id == 0);
    let has_id = reader.store_id()?.is_some();
    if has_id && views.is_empty() {
        return Ok(());
    }
    let mut writer = CatalogWriter::begin(database)?;
    if !has_id {
        writer.put_store_id(&new_store_id())?;
    }
    for view in &mut views {
        view.id = writer.store.next_table;
        writer.store.next_table += 1;
        writer.put_view(view)?;
    }
    writer.commit_unversioned("the ids of the store and its views")
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
        reader_features: FEATURE_VERSIONS,
        writer_features: WRITER_FEATURES,
        created_at_ms: now_ms(),
        version: 0,
        next_table: 1,
        next_segment: 1,
        oldest_version: 0,
        retention_ms: DEFAULT_RETENTION_MS,
        disk_tier: None,
        object_tier: None,
        tier_limits: BTreeMap::new(),
        prefetch: PrefetchSettings::default(),
        compresses_objects: true,
    };
    Database::open(&unfinished, Access::Create)?.initialise(&record, &new_store_id(), DEFAULT_NAMESPACE)?;
    fs::rename(&unfinished, catalog).map_err(|error| StoreError::io("rename", &unfinished, error))?;
    files::sync_dir(path)?;
    // Only now: segments without a catalog are somebody's data, and no place for a new store.
    files::create_dir(&path.join(SEGMENTS_DIR))?;
    files::sync_dir(path)
}
