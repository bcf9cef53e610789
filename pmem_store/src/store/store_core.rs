//! The state that a store and its transactions share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::StoreOptions;
use crate::access::Access;
use crate::catalog::{CatalogReader, Database, TableId};
use crate::close_record::CloseRecord;
use crate::error::{Result, StoreError};
use crate::files;
use crate::publisher::Publisher;
use crate::recovery::DirtyMark;
use crate::region::{Mode, PoisonFlag, RegionKind};
use crate::segment::{SealedSegment, remove_segment_files};
use crate::shared::Shared;
use crate::snapshot::Snapshot;

#[derive(Debug)]
pub(crate) struct StoreCore {
    pub path: PathBuf,
    pub mode: Mode,
    pub options: StoreOptions,
    pub database: Arc<Database>,
    pub shared: Arc<Shared>,
    pub poison: Arc<PoisonFlag>,
    pub next_segment: Arc<AtomicU64>,
    pub next_table: AtomicU64,
    /// What the catalog has as the next id: a commit of rows with ids of objects must not be only in a log while this is behind.
    pub durable_next_table: AtomicU64,
    /// See [`StoreCore::lock_commits`].
    pub commits: Mutex<()>,
    /// Locked while logs become segments: two segments with one id would overwrite each other.
    pub sealing: Mutex<()>,
    pub publisher: Publisher,
    /// It is written while the commits are locked.
    pub access: RwLock<Arc<Access>>,
    pub dirty: DirtyMark,
    /// The record of the last close.
    pub closed: CloseRecord,
    pub given_up: Vec<String>,
}

impl StoreCore {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.publisher.snapshot(&self.shared)
    }

    /// Whether new segments of a table have all columns in their physical types. A table that is not committed yet is none of the catalog's: who writes
    /// its rows knows its options.
    pub fn has_plain_columns(&self, table: TableId) -> bool {
        self.publisher.state().table_by_id(table).is_some_and(|table| table.record.has_plain_columns())
    }

    pub fn region_kind(&self) -> RegionKind {
        self.options.region
    }

    pub fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access.read())
    }

    /// The caller has locked the commits.
    pub fn set_access(&self, access: Access) {
        *self.access.write() = Arc::new(access);
    }

    /// From here on there may be files that nothing names.
    pub fn mark_dirty(&self) -> Result<()> {
        self.dirty.set(&self.poison)
    }

    pub fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(StoreError::ReadOnly(self.path.clone()));
        }
        self.poison.check().map_err(StoreError::from)
    }

    /// A process that only reads has no right to write there.
    pub fn save_touches(&self) {
        if !self.options.read_only && !self.poison.is_set() {
            let tables = self.publisher.with_state(|state| state.tables.iter().map(|table| table.record.id).collect());
            let prefetch_window_ms =
                CatalogReader::begin(&self.database).and_then(|reader| reader.store()).map_or(0, |store| store.prefetch.window_ms);
            self.shared.touches.save(&tables, prefetch_window_ms);
        }
    }

    /// Held from the check for conflicts to the publish. If the outcome of an earlier commit is unknown, this returns an error.
    pub fn lock_commits(&self) -> Result<MutexGuard<'_, ()>> {
        let commits = self.commits.lock();
        self.poison.check()?;
        Ok(commits)
    }

    /// Called on close, when everything is durable.
    fn write_close_record(&self) {
        if self.check_writable().is_err() {
            return;
        }
        let version = CatalogReader::begin(&self.database).and_then(|reader| reader.store()).map(|record| record.version);
        let noted = version.map(|version| CloseRecord { version, logs: self.shared.logs.ends() });
        let written = noted.and_then(|closed| if closed == self.closed { Ok(()) } else { closed.write(&self.path, &self.poison) });
        if let Err(error) = written {
            // The earlier record is still true.
            tracing::warn!(%error, "could not record how the store was closed");
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
            Ok(()) => self.write_close_record(),
            Err(error) => tracing::error!(%error, "rows appended last could not be made durable"),
        }
        self.save_touches();
        self.publisher.close();
        self.shared.collect_files();
        // While a reader or an appender lives, so do its files: the mark stays for the next open. It also stays if something
        // failed, perhaps a commit that is in the file all the same: only the next open sees what the file names.
        let is_last = Arc::strong_count(&self.shared) == 1;
        if !self.options.read_only && is_last && !self.poison.is_set() {
            self.dirty.clear(&self.path, &self.database);
        }
    }
}
