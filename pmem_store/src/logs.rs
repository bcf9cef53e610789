//! The open logs of a store: they take small writes, and this decides how soon those are durable.
//!
//! Invariant: an appended record that is acknowledged as durable was flushed before; one that is
//! acknowledged as visible only is flushed within [`ASYNC_FLUSH_MS`], by a separate thread.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::catalog::{CatalogReader, LogRecord, TableId};
use crate::close_record::CloseRecord;
use crate::error::Result;
use crate::files;
use crate::log::{LogEnd, LogIdentity, LogInfo, TailLog};
use crate::region::{PoisonFlag, RegionKind};

/// The size of a table's first log. It is reserved on the disk, so a small table costs little.
pub const LOG_BYTES_FIRST: u64 = 4 << 20;
/// The largest size of a log. The logs of a table grow up to it while each is filled before its predecessor is sealed.
pub const LOG_BYTES_MAX: u64 = 64 << 20;
/// The flush of asynchronous appends begins after this time.
pub const ASYNC_FLUSH_MS: u64 = 50;

/// When a commit of small rows is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Once it is durable.
    #[default]
    Sync,
    /// Once it is visible; it is durable soon after.
    Async,
}

/// A log with its catalog entry.
#[derive(Debug, Clone)]
pub(crate) struct OpenLog {
    pub record: LogRecord,
    pub log: Arc<TailLog>,
}

#[derive(Debug, Default)]
pub(crate) struct OpenLogs {
    open: Mutex<BTreeMap<(TableId, u64), OpenLog>>,
    dirty: Mutex<Dirty>,
    /// Locked during a flush: a thread that finds no dirty log must not return before the flush of another thread is done.
    flushing: Mutex<()>,
    has_dirty: Condvar,
}

#[derive(Debug, Default)]
struct Dirty {
    logs: BTreeMap<u64, Arc<TailLog>>,
    flusher_runs: bool,
    closing: bool,
}

impl OpenLogs {
    /// Opens the logs of all tables and makes records that a crash has left incomplete unreadable. Returns the last
    /// version found.
    pub fn open_all(
        &self,
        store: &Path,
        reader: &CatalogReader,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
        read_only: bool,
        closed: &CloseRecord,
    ) -> Result<u64> {
        let committed = reader.store()?.version;
        let mut last = committed;
        for (table, record) in reader.logs()? {
            let path = files::log_path(store, table, record.id);
            let identity = LogIdentity { table, log: record.id, schema_version: record.schema_version };
            // Versions are assigned one after the other; the catalog gets its version only when all earlier ones are done.
            let is_committed = |version| version <= committed;
            let log = TailLog::open_stored(&path, identity, kind, poison, read_only, closed.of_log(table, record.id), &is_committed)?;
            if let Err(error) = log.check_whole() {
                tracing::error!(%error, "a log is damaged");
            }
            last = last.max(log.last_version().unwrap_or(0));
            self.put(table, OpenLog { record, log: Arc::new(log) });
        }
        Ok(last)
    }

    pub fn of_table(&self, table: TableId) -> Vec<OpenLog> {
        self.open.lock().range((table, 0)..=(table, u64::MAX)).map(|(_, log)| log.clone()).collect()
    }

    pub fn infos(&self) -> Vec<LogInfo> {
        // Staged rows are written when they are counted. No commit should have to wait for that.
        let open: Vec<_> = self.open.lock().iter().map(|(place, open)| (*place, Arc::clone(&open.log))).collect();
        let info = |((table, id), log): ((TableId, u64), Arc<TailLog>)| LogInfo {
            table,
            id,
            row_count: log.rows_at(u64::MAX),
            size_bytes: log.size_bytes(),
        };
        open.into_iter().map(info).collect()
    }

    /// The ends of the logs, for [`CloseRecord`]; a damaged log keeps its earlier end.
    pub fn ends(&self) -> Vec<LogEnd> {
        self.open.lock().values().filter_map(|open| open.log.end_to_note()).collect()
    }

    /// The logs that lack something.
    pub fn damages(&self) -> Vec<Arc<TailLog>> {
        let open = self.open.lock();
        open.values().filter(|open| open.log.check_whole().is_err()).map(|open| Arc::clone(&open.log)).collect()
    }

    pub fn put(&self, table: TableId, log: OpenLog) {
        self.open.lock().insert((table, log.record.id), log);
    }

    pub fn remove(&self, table: TableId, log: u64) {
        self.open.lock().remove(&(table, log));
        self.dirty.lock().logs.remove(&log);
    }

    /// Schedules a flush for an append that no caller waits for.
    pub fn flush_soon(this: &Arc<OpenLogs>, log: &Arc<TailLog>) {
        let mut dirty = this.dirty.lock();
        dirty.logs.entry(log.identity().log).or_insert_with(|| Arc::clone(log));
        if !std::mem::replace(&mut dirty.flusher_runs, true) {
            let logs = Arc::downgrade(this);
            let flusher = std::thread::Builder::new().name("quiver-flush".into()).spawn(move || flusher(&logs));
            // If there is no thread, the next commit or the close flushes.
            dirty.flusher_runs = flusher.is_ok();
        }
        this.has_dirty.notify_one();
    }

    /// Makes durable what was appended until now. If that fails it fails for all later callers too:
    /// the logs that could not be flushed stay dirty.
    pub fn flush(&self) -> Result<()> {
        let _until_durable = self.flushing.lock();
        let dirty = std::mem::take(&mut self.dirty.lock().logs);
        let flushed = dirty.values().try_for_each(|log| log.flush(u64::MAX));
        if flushed.is_err() {
            self.dirty.lock().logs.extend(dirty);
        }
        flushed
    }

    pub fn close(&self) {
        self.dirty.lock().closing = true;
        self.has_dirty.notify_all();
    }
}

/// The thread ends with the store. A flush that fails poisons the store, and the next write reports it.
fn flusher(logs: &Weak<OpenLogs>) {
    loop {
        let Some(logs) = logs.upgrade() else { return };
        {
            let mut dirty = logs.dirty.lock();
            while dirty.logs.is_empty() && !dirty.closing {
                logs.has_dirty.wait(&mut dirty);
            }
            if dirty.closing {
                return;
            }
        }
        // More appends may join the flush meanwhile.
        std::thread::sleep(Duration::from_millis(ASYNC_FLUSH_MS));
        if let Err(error) = logs.flush() {
            return tracing::error!(%error, "appended rows could not be made durable");
        }
    }
}
