//! Usage of resources in numbers, for monitoring.

use datafusion::execution::memory_pool::MemoryLimit;

use crate::engine::Engine;
use common::error::EngineError;

/// The current values. All of them are gauges, except for the compactions that have ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    pub memory_used_bytes: u64,
    pub memory_limit_bytes: u64,
    pub tables: u64,
    pub segments: u64,
    /// Bytes of small writes that are not in a segment yet.
    pub log_bytes: u64,
    /// Bytes of the segments, their side files, and the logs of the current tables.
    pub store_bytes: u64,
    /// Work that is left for background compaction.
    pub backlog_segments: u64,
    pub backlog_bytes: u64,
    pub compactions_running: u64,
    /// Compactions since the engine started, by outcome.
    pub compactions: Vec<(&'static str, u64)>,
}

impl Engine {
    /// Visits every table once.
    pub fn usage(&self) -> Result<Usage, EngineError> {
        let shared = &self.shared;
        let pool = &shared.runtime.memory_pool;
        let limit = match pool.memory_limit() {
            MemoryLimit::Finite(bytes) => bytes,
            _ => 0,
        };
        let (running, ended) = shared.maintenance.runs().counts();
        let mut usage = Usage {
            memory_used_bytes: pool.reserved() as u64,
            memory_limit_bytes: limit as u64,
            compactions_running: running,
            compactions: ended,
            ..Usage::default()
        };
        let snapshot = shared.store.snapshot()?;
        for record in snapshot.tables()? {
            let Some(table) = snapshot.table(&record.namespace, &record.name)? else { continue };
            usage.tables += 1;
            usage.segments += table.segments().len() as u64;
            usage.store_bytes += table.size_bytes();
            usage.log_bytes += table.tails().iter().map(|tail| tail.size_bytes()).sum::<u64>();
            let (segments, bytes) = shared.maintenance.backlog(&table)?;
            usage.backlog_segments += segments;
            usage.backlog_bytes += bytes;
        }
        Ok(usage)
    }

    /// Why the store accepts no more writes until it is reopened: a write to the disk failed.
    pub fn poisoned(&self) -> Option<String> {
        self.shared.store.poisoned()
    }
}
