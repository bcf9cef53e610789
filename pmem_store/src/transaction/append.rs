//! Appends few rows directly to the log of one table: a commit that changes nothing else.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::materialize::open_log;
use crate::catalog::{TableId, TableRecord};
use crate::error::Result;
use crate::log::{AppendError, PreparedRecord, TailLog};
use crate::logs::{Durability, OpenLogs};
use crate::snapshot::TableSnapshot;
use crate::state::{CatalogState, TableState};
use crate::store::{Store, StoreCore};

/// The table option that says how soon small writes are durable.
const DURABILITY: &str = "durability";

/// The table for which a caller has made rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableVersion {
    pub namespace: String,
    pub name: String,
    pub id: TableId,
    /// The table's catalog entry is from this version, or from an earlier one.
    pub changed_version: u64,
}

impl From<&TableSnapshot> for TableVersion {
    fn from(table: &TableSnapshot) -> TableVersion {
        let record = table.record();
        TableVersion {
            namespace: record.namespace.clone(),
            name: record.name.clone(),
            id: record.id,
            changed_version: record.changed_version,
        }
    }
}

impl TableSnapshot {
    /// How soon small writes are durable, according to the table's options.
    pub fn durability(&self) -> Durability {
        durability_of(self.record())
    }
}

impl Store {
    /// Whether the last commit still has the table in this version.
    pub fn is_unchanged(&self, table: &TableVersion) -> bool {
        self.core.publisher.with_state(|state| table.find(state).is_some())
    }

    /// Whether a commit is in progress, so that another one would have to wait.
    pub fn is_committing(&self) -> bool {
        self.core.commits.is_locked()
    }

    /// Commits rows of the table's physical schema without a transaction. Returns `None`, and does nothing, if
    /// the catalog has to change for them, or has changed the table since: the caller then needs a
    /// transaction. `durability` takes precedence over the table's option.
    ///
    /// The rows are visible, and durable if required, when [`Acknowledgement::wait`] returns.
    pub fn append_rows(&self, table: &TableVersion, rows: &RecordBatch, durability: Option<Durability>) -> Result<Option<Acknowledgement>> {
        let core = &self.core;
        core.check_writable()?;
        core.mark_dirty()?;
        if let Some(staged) = self.stage_rows(table, rows, durability)? {
            return Ok(Some(staged));
        }
        let Some((log, mut record)) = table.prepare(&core.publisher.state(), rows)? else { return Ok(None) };
        let _commits = core.lock_commits()?;
        // The table, and the log with it, may have changed while the rows were encoded.
        let current = core.publisher.state();
        let Some(entry) = table.find(&current) else { return Ok(None) };
        let durability = durability.unwrap_or_else(|| durability_of(&entry.record));
        append_record(core, &log, &mut record, durability)
    }

    /// As [`Store::append_rows`] with [`Durability::Async`], for rows that can be visible without waiting.
    /// Returns their version; `None`, and nothing is done, for all other rows.
    pub fn append_at_once(&self, table: &TableVersion, rows: &RecordBatch) -> Result<Option<u64>> {
        let core = &self.core;
        core.check_writable()?;
        core.mark_dirty()?;
        let Some(_commits) = core.commits.try_lock() else { return Ok(None) };
        let next = core.publisher.next_at_once(|state| table.open_log(state));
        let Some((version, log)) = next else { return Ok(None) };
        let staged = stage(core, &log, rows, version)?;
        Ok(staged.then_some(version))
    }

    /// Rows that need not be durable share a record with others. Returns `None`, and does nothing, if they
    /// need their own record.
    fn stage_rows(&self, table: &TableVersion, rows: &RecordBatch, durability: Option<Durability>) -> Result<Option<Acknowledgement>> {
        let core = &self.core;
        if durability == Some(Durability::Sync) {
            return Ok(None);
        }
        let _commits = core.lock_commits()?;
        let is_async = |state: &CatalogState| {
            durability.is_some() || table.find(state).is_some_and(|entry| durability_of(&entry.record) == Durability::Async)
        };
        let log = core.publisher.with_state(|state| table.open_log(state).filter(|_| is_async(state)));
        let Some(log) = log else { return Ok(None) };
        let version = core.publisher.next_version();
        match stage(core, &log, rows, version)? {
            true => Ok(Some(Acknowledgement::new(core, &log, version, None))),
            false => Ok(None),
        }
    }
}

/// Gives the rows to the log as commit `version`, to be durable soon. Returns false, and does nothing, if they need
/// their own record. The commits are locked, and the log is the open one of its table.
fn stage(core: &StoreCore, log: &Arc<TailLog>, rows: &RecordBatch, version: u64) -> Result<bool> {
    let Some(is_first) = log.stage(rows, version)? else { return Ok(false) };
    if is_first {
        // This comes before the rows are visible, as in `append_record`. All of them wait for the same flush.
        OpenLogs::flush_soon(&core.shared.logs, log);
    }
    core.publisher.begin(version, true);
    Ok(true)
}

impl TableVersion {
    /// Every change of the table's catalog entry, even of its name, has given it another version.
    fn find<'a>(&self, state: &'a CatalogState) -> Option<&'a Arc<TableState>> {
        state.table_by_id(self.id).filter(|entry| entry.record.changed_version == self.changed_version)
    }

    /// The log that takes rows of this version of the table; `None` also if the table was not loaded yet.
    fn open_log(&self, state: &CatalogState) -> Option<Arc<TailLog>> {
        let table = self.find(state).filter(|table| !table.record.is_read_only())?;
        let last = table.loaded()?.logs.values().next_back()?;
        let is_open = !last.record.closed && last.record.schema_version == table.record.schema_version;
        is_open.then(|| Arc::clone(&last.log))
    }

    fn prepare(&self, state: &CatalogState, rows: &RecordBatch) -> Result<Option<(Arc<TailLog>, PreparedRecord)>> {
        let Some(table) = self.find(state).filter(|table| !table.record.is_read_only()) else { return Ok(None) };
        let data = table.data()?;
        let Some(open) = open_log(table, &data, rows) else { return Ok(None) };
        Ok(Some((Arc::clone(&open.log), open.log.prepare(rows)?)))
    }
}

pub(super) fn durability_of(record: &TableRecord) -> Durability {
    match record.options.get(DURABILITY).map(String::as_str) {
        Some("async") => Durability::Async,
        _ => Durability::Sync,
    }
}

/// Appends the record as its own version; `None` if the log has no room. The commits are locked, and
/// the log is the open one of its table.
pub(super) fn append_record(
    core: &Arc<StoreCore>,
    log: &Arc<TailLog>,
    record: &mut PreparedRecord,
    durability: Durability,
) -> Result<Option<Acknowledgement>> {
    let version = core.publisher.next_version();
    let appended = match log.append_prepared(record, version, false) {
        Ok(appended) => appended,
        Err(AppendError::Full { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_async = durability == Durability::Async;
    if is_async {
        // This comes before the rows are visible: a commit of the catalog that builds on them flushes them first.
        OpenLogs::flush_soon(&core.shared.logs, log);
    }
    core.publisher.begin(version, is_async);
    Ok(Some(Acknowledgement::new(core, log, version, (!is_async).then_some(appended.end_offset))))
}

/// A commit that was appended. Dropping it waits for it as well, because later versions become visible
/// after it.
#[must_use]
#[derive(Debug)]
pub struct Acknowledgement {
    core: Arc<StoreCore>,
    log: Arc<TailLog>,
    version: u64,
    /// The end of the record in the log, if the rows are to be durable.
    end_offset: Option<u64>,
    is_waited_for: bool,
}

impl Acknowledgement {
    fn new(core: &Arc<StoreCore>, log: &Arc<TailLog>, version: u64, end_offset: Option<u64>) -> Acknowledgement {
        let (core, log) = (Arc::clone(core), Arc::clone(log));
        Acknowledgement { core, log, version, end_offset, is_waited_for: false }
    }

    /// Returns their version when the rows are visible, and durable unless that may come
    /// later.
    pub fn wait(mut self) -> Result<u64> {
        self.is_waited_for = true;
        self.settle()?;
        Ok(self.version)
    }

    /// Whether the rows are visible, so that [`Acknowledgement::wait`] has nothing to wait for.
    pub fn is_visible(&self) -> bool {
        self.end_offset.is_none() && self.core.publisher.is_visible(self.version)
    }

    fn settle(&self) -> Result<()> {
        if let Some(end_offset) = self.end_offset {
            self.log.flush(end_offset)?;
        }
        self.core.publisher.finish(self.version)
    }
}

impl Drop for Acknowledgement {
    fn drop(&mut self) {
        if self.is_waited_for {
            return;
        }
        if let Err(error) = self.settle() {
            tracing::error!(%error, "asynchronously appended rows could not be made durable");
        }
    }
}

/// The current table whose rows the log takes; `None` for a log that takes no more rows.
pub(super) fn table_of_open_log(log: &Arc<TailLog>, current: &CatalogState) -> Result<Option<Arc<TableState>>> {
    let identity = log.identity();
    let Some(table) = current.table_by_id(identity.table) else { return Ok(None) };
    let data = table.data()?;
    // The log is closed, sealed, or has other columns than the table has now.
    let is_open =
        data.logs.values().next_back().is_some_and(|last| {
            Arc::ptr_eq(&last.log, log) && !last.record.closed && identity.schema_version == table.record.schema_version
        });
    Ok((is_open && !table.record.is_read_only()).then(|| Arc::clone(table)))
}
