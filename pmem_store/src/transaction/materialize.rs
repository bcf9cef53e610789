//! Writes the rows that a transaction has added to their tables' logs when it commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};

use crate::catalog::{LogRecord, TableId};
use crate::error::{Result, StoreError};
use crate::files;
use crate::log::{AppendError, LogIdentity, TailLog};
use crate::logs::{LOG_BYTES_FIRST, LOG_BYTES_MAX, OpenLog};
use crate::state::{CatalogState, PendingRows, TableData, TableLog, TableState};
use crate::store::StoreCore;

/// Records of a commit whose outcome is open. If this is dropped before [`Appended::keep`], they are
/// removed again.
#[derive(Debug)]
pub struct Appended {
    version: u64,
    logs: Vec<(TableId, OpenLog)>,
    /// Logs that were created for this commit.
    new: Vec<(TableId, OpenLog)>,
    is_kept: bool,
}

impl Appended {
    pub fn flush(&self) -> Result<()> {
        self.logs.iter().try_for_each(|(_, open)| open.log.flush(u64::MAX))
    }

    /// The commit has happened, or may have: nothing is undone any more.
    pub fn keep(mut self, core: &StoreCore) {
        self.is_kept = true;
        for (table, open) in self.new.drain(..) {
            core.shared.logs.put(table, open);
        }
    }
}

impl Drop for Appended {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for (_, open) in &self.logs {
            if let Err(error) = open.log.retract(self.version) {
                // The failure has poisoned the store; the next open makes the record unreadable.
                tracing::error!(%error, "could not undo a record of a failed commit");
            }
        }
        self.new.iter().for_each(|(_, open)| files::remove(open.log.path()));
    }
}

/// Appends all pending rows of the state as version `version` of the catalog, and removes them from the state.
/// `committed` is the state it was made from, which has no pending rows.
pub fn materialize(core: &StoreCore, committed: &CatalogState, state: &mut CatalogState, version: u64) -> Result<Appended> {
    let mut appended = Appended { version, logs: Vec::new(), new: Vec::new(), is_kept: false };
    let tables: Vec<Arc<TableState>> = state.tables.changed_since(&committed.tables).cloned().collect();
    for table in tables {
        // A table that was not loaded has no pending rows.
        let Some(data) = table.loaded().filter(|data| !data.pending.is_empty()) else { continue };
        let mut data = data.as_ref().clone();
        if let Some(rows) = live(&std::mem::take(&mut data.pending))? {
            append(core, &table, &mut data, &rows, &mut appended)?;
        }
        state.put_table(TableState::new(table.record.clone(), data));
    }
    Ok(appended)
}

/// The pending rows that are not deleted, as one batch.
pub fn live(pending: &[PendingRows]) -> Result<Option<RecordBatch>> {
    let mut batches = Vec::with_capacity(pending.len());
    for rows in pending {
        let Some(deletions) = &rows.deletions else {
            batches.push(rows.rows.clone());
            continue;
        };
        let mask: BooleanArray = (0..rows.rows.num_rows()).map(|row| Some(!deletions.rows().contains(row as u32))).collect();
        batches.push(filter_record_batch(&rows.rows, &mask)?);
    }
    batches.retain(|batch| batch.num_rows() > 0);
    match batches.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [first, ..] => Ok(Some(concat_batches(&first.schema(), &batches)?)),
    }
}

/// The log of a table that takes new rows of this schema, if there is one.
pub fn open_log<'a>(table: &TableState, data: &'a TableData, rows: &RecordBatch) -> Option<&'a TableLog> {
    let last = data.logs.values().next_back()?;
    let fits = !last.record.closed
        && last.record.schema_version == table.record.schema_version
        && last.log.schema().fields() == rows.schema_ref().fields();
    fits.then_some(last)
}

/// A new log costs a commit of the catalog: so a table that fills one before it is sealed gets a larger one.
fn grown_bytes(full: &TailLog) -> u64 {
    full.capacity_bytes().saturating_mul(4).min(LOG_BYTES_MAX)
}

fn append(core: &StoreCore, table: &TableState, data: &mut TableData, rows: &RecordBatch, appended: &mut Appended) -> Result<()> {
    let id = table.record.id;
    let mut capacity_bytes = LOG_BYTES_FIRST;
    if let Some(last) = open_log(table, data, rows) {
        match last.log.append(rows, appended.version, true) {
            Ok(_) => {
                let open = OpenLog { record: last.record.clone(), log: Arc::clone(&last.log) };
                appended.logs.push((id, open));
                return Ok(());
            }
            Err(AppendError::Full { .. }) => capacity_bytes = grown_bytes(&last.log),
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(last) = data.logs.values_mut().next_back() {
        last.record.closed = true;
    }
    let log_id = core.next_segment.fetch_add(1, Ordering::Relaxed);
    let schema_version = table.record.schema_version;
    let identity = LogIdentity { table: id, log: log_id, schema_version };
    let path = files::log_path(core.path(), id, log_id);
    let capacity = capacity_bytes.max(rows.get_array_memory_size() as u64 * 2);
    let log = TailLog::create(&path, identity, rows.schema(), capacity, core.region_kind(), &core.poison)?;
    let record = LogRecord { id: log_id, schema_version, created_version: appended.version, closed: false };
    let open = OpenLog { record: record.clone(), log: Arc::new(log) };
    appended.new.push((id, open.clone()));
    open.log.append(rows, appended.version, true).map_err(StoreError::from)?;
    data.logs.insert(log_id, TableLog { record, log: Arc::clone(&open.log), deletions: None, columns: None });
    appended.logs.push((id, open));
    Ok(())
}
