//! An open store: a directory with a catalog, segments and a lock. Modules above this one add methods
//! to [`Store`]: transactions, versions, checks, backups.

mod access;
mod options;
mod store_core;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::datatypes::SchemaRef;

use crate::catalog::TableId;
use crate::error::Result;
use crate::files;
use crate::region::Mode;
use crate::segment::{Appender, SealedSegment};
use crate::snapshot::Snapshot;

pub use options::StoreOptions;
pub(crate) use store_core::StoreCore;

/// An open store. Cheap to clone: clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) core: Arc<StoreCore>,
}

impl Store {
    pub fn path(&self) -> &Path {
        &self.core.path
    }

    /// How writes to this store become durable.
    pub fn mode(&self) -> Mode {
        self.core.mode
    }

    pub fn is_read_only(&self) -> bool {
        self.core.options.read_only
    }

    /// Whether it is read beside a process that writes: it stays at one version.
    pub fn is_leased(&self) -> bool {
        self.core.shared.claim.leased_version().is_some()
    }

    /// Lets other processes that find the store in use know where this one serves it.
    pub fn announce(&self, uri: &str) {
        if let Some(lock) = self.core.shared.claim.lock() {
            lock.announce(uri);
        }
    }

    /// What failed, if a write to the disk has: nothing is written then until the store is opened again.
    pub fn poisoned(&self) -> Option<String> {
        self.core.poison.reason().map(str::to_string)
    }

    /// The losses that it has accepted, a sentence for each; see [`StoreOptions::accept_loss`].
    pub fn given_up(&self) -> &[String] {
        &self.core.given_up
    }

    /// The last committed version. It is cheap: readers of one version share a snapshot.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(self.core.snapshot())
    }

    /// An id that no table has or had: the rows of a new table can be written under it before the table is created.
    pub fn new_table_id(&self) -> TableId {
        self.core.next_table.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes rows of the physical schema `schema` for `table`; nobody sees them before a
    /// [`Transaction`](crate::Transaction) adds the segments that [`Appender::finish`] returns.
    pub fn appender(&self, table: TableId, schema: SchemaRef) -> Result<Appender> {
        let core = &self.core;
        core.check_writable()?;
        core.mark_dirty()?;
        let dir = files::table_dir(&core.path, table);
        let next = Arc::clone(&core.next_segment);
        let locked = Arc::clone(&core.shared);
        let appender = Appender::new(dir, schema, core.options.region, Arc::clone(&core.poison), next, locked);
        Ok(if core.has_plain_columns(table) { appender.with_plain_columns() } else { appender })
    }

    /// Makes durable everything that was appended with [`Durability::Async`](crate::Durability::Async) until now.
    pub fn flush(&self) -> Result<()> {
        self.core.check_writable()?;
        self.core.shared.logs.flush()
    }

    /// Removes sealed segments that will not be committed.
    pub fn discard(&self, table: TableId, segments: &[SealedSegment]) {
        self.core.discard(table, segments);
    }
}
