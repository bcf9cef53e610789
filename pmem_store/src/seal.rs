//! Makes segments of logs: a closed log becomes a segment with the same id and the same row positions.
//!
//! Readers see the same rows before and after; so does a transaction that has found rows to delete.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::catalog::TableId;
use crate::error::{Result, StoreError};
use crate::files;
use crate::log::LogInfo;
use crate::segment::{Appender, SealedSegment};
use crate::state::TableLog;
use crate::store::Store;

impl Store {
    /// The logs of all tables, by table and age.
    pub fn logs(&self) -> Vec<LogInfo> {
        self.core.shared.logs.infos()
    }

    /// Seals the logs of a table, including the one that takes new rows. Returns the number of new segments.
    pub fn seal_logs(&self, table: TableId) -> Result<usize> {
        let _one_at_a_time = self.core.sealing.lock();
        let open: Vec<u64> = self.logs_of(table)?.into_iter().filter(|log| !log.record.closed).map(|log| log.record.id).collect();
        if !open.is_empty() {
            let mut transaction = self.begin()?;
            for log in open {
                transaction.close_log(table, log)?;
            }
            transaction.commit("CLOSE LOG")?;
        }
        self.seal_closed(table)
    }

    /// Seals the logs of a table that are full.
    pub fn seal_closed_logs(&self, table: TableId) -> Result<usize> {
        let _one_at_a_time = self.core.sealing.lock();
        self.seal_closed(table)
    }

    fn seal_closed(&self, table: TableId) -> Result<usize> {
        let closed = self.logs_of(table)?.into_iter().filter(|log| log.record.closed);
        let mut sealed = 0;
        for log in closed {
            let mut transaction = self.begin()?;
            match self.write_segment(table, &log)? {
                Some(segment) => transaction.seal_log(table, segment)?,
                None => transaction.drop_log(table, log.record.id)?,
            }
            transaction.commit("SEAL LOG")?;
            sealed += 1;
        }
        Ok(sealed)
    }

    fn logs_of(&self, table: TableId) -> Result<Vec<TableLog>> {
        let snapshot = self.snapshot()?;
        let Some(entry) = snapshot.state.table_by_id(table) else { return Ok(Vec::new()) };
        Ok(entry.data()?.logs.values().cloned().collect())
    }

    /// `None` for a log without rows.
    fn write_segment(&self, table: TableId, log: &TableLog) -> Result<Option<SealedSegment>> {
        let core = &self.core;
        core.check_writable()?;
        // The log is closed: no version will add rows.
        let view = log.log.view(u64::MAX)?;
        let id = Arc::new(AtomicU64::new(log.record.id));
        let dir = files::table_dir(core.path(), table);
        let (kind, poison) = (core.region_kind(), Arc::clone(&core.poison));
        let locked = Arc::<crate::shared::Shared>::clone(&core.shared);
        let appender = Appender::new(dir, Arc::clone(log.log.schema()), kind, poison, id, locked);
        // It is one segment, whatever its size, because there is one id.
        let mut appender = appender.with_target_bytes(log.log.capacity_bytes().saturating_mul(4)).in_one_segment();
        if core.has_plain_columns(table) {
            appender = appender.with_plain_columns();
        }
        for chunk in 0..view.chunk_count() {
            appender.write(view.chunk(chunk)?)?;
        }
        let mut segments = appender.finish()?;
        match (segments.pop(), segments.is_empty()) {
            (None, _) => Ok(None),
            (Some(segment), true) => Ok(Some(segment)),
            (Some(last), false) => {
                segments.push(last);
                self.discard(table, &segments);
                Err(StoreError::damaged(log.log.path(), 0, "its rows do not fit one segment"))
            }
        }
    }
}
