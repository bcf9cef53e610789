//! One version of an open store, kept while it is copied.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::head::{LogFile, OwnFile};
use super::layout::{CATALOG_FILE, log_file};
use super::verify::problem_of;
use crate::catalog::{CatalogReader, StoreRecord, WRITER_FEATURES};
use crate::checksum::xxh3;
use crate::error::{BackupError, Result, StoreError};
use crate::files;
use crate::log::LogView;
use crate::shared::Pin;
use crate::store::Store;

/// Invariant: while it lives, no file is removed that its catalog names, including files that only older versions
/// need.
pub struct Image {
    pub version: u64,
    reader: CatalogReader,
    logs: Vec<LogView>,
    pin: Arc<Pin>,
}

impl Image {
    /// Takes the last version. Commits wait for it as they wait for another commit.
    pub fn take(store: &Store) -> Result<Image> {
        let core = &store.core;
        let one_at_a_time = core.commits.lock();
        // Without this a crash could take versions from the store that its backup has.
        core.publisher.drain()?;
        core.shared.logs.flush()?;
        let snapshot = core.snapshot();
        let version = snapshot.version();
        // It pins the version before: a file that only older versions need is removed under the number of the
        // version that is the last one at that moment, which may be this one.
        let pin = Pin::new(version.saturating_sub(1), &core.shared);
        let reader = CatalogReader::begin(&core.database)?;
        let mut logs = Vec::new();
        for (table, record) in reader.logs()? {
            let open = core.shared.logs.of_table(table).into_iter().find(|open| open.record.id == record.id);
            let open = open.ok_or_else(|| reader_error(store, format!("it has log {} of table {table}, which is not open", record.id)))?;
            // A damaged log reports its damage, also if its file is gone.
            let view = open.log.view(version)?;
            if store.is_read_only() {
                // The last writer may have been killed before it flushed the log.
                let synced = File::open(open.log.path()).and_then(|log| log.sync_data());
                synced.map_err(|error| StoreError::io("flush", open.log.path(), error))?;
            }
            logs.push(view);
        }
        drop((one_at_a_time, snapshot));
        refuse_newer(store.path(), &reader.store()?)?;
        Ok(Image { version, reader, logs, pin })
    }

    pub fn store_id(&self, path: &Path) -> Result<String> {
        self.reader.store_id()?.ok_or_else(|| BackupError::NoId(path.to_path_buf()).into())
    }

    /// Writes the catalog to `path`, which must not exist. The caller holds the pin while the other files are read where they are.
    pub fn write_catalog(self, path: &Path) -> Result<Arc<Pin>> {
        self.reader.copy_to(path)?;
        Ok(self.pin)
    }

    /// Writes the catalog and the logs into the empty directory `dir`. All but the name of the directory is durable. While
    /// the catalog is read, redb keeps all its old pages; so the catalog is copied first, and alone. The caller holds the pin
    /// while it copies segments.
    pub fn write(self, dir: &Path) -> Result<(OwnFile, Vec<LogFile>, Arc<Pin>)> {
        let catalog = dir.join(CATALOG_FILE);
        self.reader.copy_to(&catalog)?;
        drop(self.reader);
        let mut logs = Vec::with_capacity(self.logs.len());
        for view in self.logs {
            let (identity, path) = (view.identity(), view.mapping().path());
            let damaged = |error| BackupError::DamagedSource { path: path.to_path_buf(), what: problem_of(&error) };
            let bytes = view.verified_bytes().map_err(damaged)?;
            files::write_durably(&dir.join(log_file(identity.table, identity.log)), &bytes)?;
            let file = OwnFile { size_bytes: bytes.len() as u64, xxh3: xxh3(&bytes) };
            logs.push(LogFile { table: identity.table, id: identity.log, schema_version: identity.schema_version, file });
        }
        files::sync_dir(dir)?;
        Ok((OwnFile::of(&catalog)?, logs, self.pin))
    }
}

/// A program that may not write to a store does not know all that belongs to it.
fn refuse_newer(path: &Path, record: &StoreRecord) -> Result<()> {
    match record.writer_features & !WRITER_FEATURES {
        0 => Ok(()),
        feature => Err(StoreError::NewerFormat { path: path.to_path_buf(), role: "writer", feature }),
    }
}

fn reader_error(store: &Store, what: String) -> StoreError {
    StoreError::Catalog { path: store.path().to_path_buf(), what }
}
