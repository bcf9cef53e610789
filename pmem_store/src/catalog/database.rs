//! Opens the redb file and defines its tables.

use std::any::Any;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Builder, CommitError, Key, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, StorageError, TableDefinition};
use redb::{TableError, TransactionError, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::integrity::{self, CACHE_BYTES, Flaw, VERIFIED_AT_OPEN_BYTES};
use super::records::{NamespaceRecord, StoreRecord};
use super::simulated::SimulatedFile;
use super::sum::{self, Records};
use crate::error::{Result, StoreError, is_full};
use crate::files;
use crate::region::simulated::Disk;
use crate::region::{CommitInDoubt, PoisonFlag};

/// `"store"` → [`StoreRecord`]; `"id"` → the store's id, as text; `"token_key"` → bytes
pub const STORE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("store");
/// namespace → `NamespaceRecord`
pub const NAMESPACES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("namespaces");
/// (namespace, table) → `TableRecord`
pub const TABLES: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("tables");
/// (table id, schema version) → the declared schema as an Arrow IPC message
pub const SCHEMAS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("schemas");
/// (table id, segment id) → `SegmentRecord`
pub const SEGMENTS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("segments");
/// (namespace, view) → `ViewRecord`
pub const VIEWS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("views");
/// version → `VersionRecord`
pub const VERSIONS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("versions");

/// (table id, segment id, version) → deleted rows from that version on, as a portable Roaring bitmap
pub const DELETIONS: TableDefinition<'_, (u64, u64, u64), &[u8]> = TableDefinition::new("deletions");
/// (table id, version) → `TableRecord` from that version on
pub const HISTORY: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("history");
/// (first version that does not need it, number) → `Garbage`
pub const GARBAGE: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("garbage");
/// (table id, log id) → `LogRecord`
pub const LOGS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("logs");
/// name → `NamedSnapshot`
pub const SNAPSHOTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("snapshots");
/// name → `PrincipalRecord`
pub const PRINCIPALS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("principals");
/// (grantee, object as JSON) → `GrantRecord`
pub const GRANTS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("grants");

pub const STORE_KEY: &str = "store";
/// It has its own key and is not in the record, so that a program that does not know it preserves it.
pub const STORE_ID_KEY: &str = "id";
pub const TOKEN_KEY: &str = "token_key";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Create,
    Write,
    Read,
}

enum Handle {
    Write(redb::Database),
    Read(ReadOnlyDatabase),
}

pub struct Database {
    handle: Handle,
    path: PathBuf,
    /// The flag of the store that has this catalog. After a failure redb refuses to work, too.
    poison: Arc<PoisonFlag>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Database {
    pub fn open(path: &Path, access: Access) -> Result<Database> {
        let failed = |error: redb::DatabaseError| open_error(path, error);
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        if access != Access::Create && path.metadata().is_ok_and(|file| VERIFIED_AT_OPEN_BYTES.contains(&file.len())) {
            integrity::verify(path).map_err(|flaw| flaw_error(path, flaw))?;
        }
        let io_failed = |error| failed(StorageError::Io(error).into());
        let open = || match (access, Disk::of_this_thread()) {
            (Access::Create | Access::Write, Some(disk)) => {
                let file = files::open_private(path).and_then(|file| SimulatedFile::new(path, file, &disk)).map_err(io_failed)?;
                Ok(Handle::Write(builder.create_with_backend(file).map_err(failed)?))
            }
            (Access::Create, None) => {
                let file = files::open_private(path).map_err(io_failed)?;
                Ok(Handle::Write(builder.create_file(file).map_err(failed)?))
            }
            (Access::Write, None) => Ok(Handle::Write(builder.open(path).map_err(failed)?)),
            (Access::Read, _) => Ok(Handle::Read(builder.open_read_only(path).map_err(failed)?)),
        };
        let handle = integrity::without_panic(open).unwrap_or_else(|what| Err(flaw_error(path, Flaw::Damage(what))))?;
        Ok(Database { handle, path: path.to_path_buf(), poison: PoisonFlag::new() })
    }

    /// Verifies the file as it is on the disk now; commits wait meanwhile. An error says what is wrong with it.
    pub fn verify(&self) -> Result<()> {
        // This transaction is never committed: it blocks other writers.
        let _write_lock = match &self.handle {
            Handle::Write(database) => database.begin_write().ok(),
            Handle::Read(_) => None,
        };
        integrity::verify(&self.path).map_err(|flaw| flaw_error(&self.path, flaw))
    }

    pub fn poison(&self) -> &Arc<PoisonFlag> {
        &self.poison
    }

    pub fn begin_read(&self) -> Result<ReadTransaction> {
        let transaction = match &self.handle {
            Handle::Write(database) => database.begin_read(),
            Handle::Read(database) => database.begin_read(),
        };
        transaction.map_err(|error| self.error(error))
    }

    /// Commits in two phases and keeps the allocator's state: a crash at any point leaves the last
    /// commit or the one before, and opening again needs no scan of the file.
    pub fn begin_write(&self) -> Result<WriteTransaction> {
        let Handle::Write(database) = &self.handle else {
            return Err(StoreError::ReadOnly(self.path.clone()));
        };
        let mut transaction = database.begin_write().map_err(|error| self.error(error))?;
        transaction.set_two_phase_commit(true);
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    /// For every operation but a commit: the change was not made.
    pub fn error(&self, error: impl Display + 'static) -> StoreError {
        let path = self.path.clone();
        match storage_error(&error) {
            Some(StorageError::Io(source)) => {
                self.poison.poison(format!("\"{}\" could not be read or written ({source})", path.display()));
                match is_full(source) {
                    true => StoreError::NoSpaceForCatalog(path),
                    false => StoreError::CatalogIo { path, what: source.to_string() },
                }
            }
            // After an I/O error redb refuses to read, too.
            Some(StorageError::PreviousIo) => {
                StoreError::CatalogIo { path, what: self.poison.reason().unwrap_or("it could not be before").to_string() }
            }
            _ => StoreError::Catalog { path, what: error.to_string() },
        }
    }

    /// Commits the transaction of `begin_write`. After an error, or a panic, the file has the whole change or nothing of it;
    /// the next open sees which. Until then nothing is written, and no file is removed that one of the two states needs.
    pub fn commit(&self, transaction: WriteTransaction, unknown: CommitInDoubt) -> Result<()> {
        let Err(error) = transaction.commit() else {
            unknown.succeeded();
            return Ok(());
        };
        let path = self.path.clone();
        let (what, is_full) = match &error {
            CommitError::Storage(StorageError::Io(source)) => (source.to_string(), is_full(source)),
            other => (other.to_string(), false),
        };
        unknown.failed(&format!("\"{}\" could not be written ({what})", path.display()));
        match is_full {
            true => Err(StoreError::NoSpaceForCommit(path)),
            false => Err(StoreError::UnknownCommit { path, what }),
        }
    }

    pub fn damaged(&self, what: String) -> StoreError {
        flaw_error(&self.path, Flaw::Damage(what))
    }

    /// Encodes a record as JSON with its checksum.
    pub fn encode<K: Key + 'static, T: Serialize>(&self, records: Records<'_, K>, key: &K::SelfType<'_>, record: &T) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(record).map_err(|error| self.error(error))?;
        Ok(sum::sum_json(records, key, json))
    }

    /// Decodes a record from JSON.
    pub fn decode<K: Key + 'static, T: DeserializeOwned>(&self, records: Records<'_, K>, key: &K::SelfType<'_>, bytes: &[u8]) -> Result<T> {
        sum::verify_json(records, key, bytes).map_err(|what| self.damaged(what))?;
        serde_json::from_slice(bytes).map_err(|error| self.error(error))
    }

    /// Creates every table and the store's own record.
    pub fn initialise(&self, record: &StoreRecord, id: &str, namespace: &str) -> Result<()> {
        let transaction = self.begin_write()?;
        let fail = |error: redb::TableError| self.error(error);
        {
            let mut store = transaction.open_table(STORE).map_err(fail)?;
            let bytes = self.encode(STORE, &STORE_KEY, record)?;
            store.insert(STORE_KEY, bytes.as_slice()).map_err(|error| self.error(error))?;
            store.insert(STORE_ID_KEY, id.as_bytes()).map_err(|error| self.error(error))?;
            let mut namespaces = transaction.open_table(NAMESPACES).map_err(fail)?;
            let bytes = self.encode(NAMESPACES, &namespace, &NamespaceRecord { created_version: 0 })?;
            namespaces.insert(namespace, bytes.as_slice()).map_err(|error| self.error(error))?;
            transaction.open_table(TABLES).map_err(fail)?;
            transaction.open_table(SCHEMAS).map_err(fail)?;
            transaction.open_table(SEGMENTS).map_err(fail)?;
            transaction.open_table(VIEWS).map_err(fail)?;
            transaction.open_table(VERSIONS).map_err(fail)?;
        }
        self.commit(transaction, self.poison.until_known("the making of the catalog".into()))
    }
}

/// The storage error inside of `error`, if there is one.
fn storage_error(error: &dyn Any) -> Option<&StorageError> {
    if let Some(TableError::Storage(error)) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(TransactionError::Storage(error)) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(CommitError::Storage(error)) = error.downcast_ref() {
        return Some(error);
    }
    error.downcast_ref()
}

fn flaw_error(path: &Path, flaw: Flaw) -> StoreError {
    match flaw {
        Flaw::Damage(what) => StoreError::CatalogDamaged { path: path.to_path_buf(), what },
        Flaw::Refused(error) => open_error(path, error),
    }
}

fn open_error(path: &Path, error: redb::DatabaseError) -> StoreError {
    let store = path.parent().unwrap_or(path);
    match error {
        // A reader may not repair the file.
        redb::DatabaseError::RepairAborted => StoreError::NotClosed(store.to_path_buf()),
        redb::DatabaseError::Storage(redb::StorageError::Io(source)) if source.kind() != std::io::ErrorKind::InvalidData => {
            StoreError::io("open", path, source)
        }
        other => StoreError::NotAStore { path: store.to_path_buf(), reason: format!("its catalog cannot be read ({other})") },
    }
}
