//! How much there is and is in use, in numbers: for those who watch an engine.

use datafusion::execution::memory_pool::MemoryLimit;

use crate::engine::Engine;
use common::error::EngineError;

/// As of now; all but compactions that have ended go up and down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    pub memory_used_bytes: u64,
    pub memory_limit_bytes: u64,
    pub tables: u64,
    pub segments: u64,
    /// Rows of small writes that are in no segment yet.
    pub log_bytes: u64,
    /// Segments, what lies beside them, and logs, of the tables as they are now.
    pub store_bytes: u64,
    /// What is to be rewritten in the background.
    pub backlog_segments: u64,
    pub backlog_bytes: u64,
    pub compactions_running: u64,
    /// Those that have ended since the engine began, by outcome.
    pub compactions: Vec<(&'static str, u64)>,
}

impl Engine {
    /// Looks at every table once.
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

    /// Why the store takes no more writes until it is opened again: a write to the disk failed.
    pub fn poisoned(&self) -> Option<String> {
        self.shared.store.poisoned()
    }
}
