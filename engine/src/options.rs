//! How an engine is set up.

use std::path::PathBuf;
use std::sync::Arc;

use crate::remote_tables::RemoteTables;

#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// Only reads: shares the store with other readers.
    pub read_only: bool,
    /// Goes on without what damage has taken: [`pmem_store::StoreOptions::accept_loss`].
    pub accept_loss: bool,
    /// What all queries together may hold in memory; 70 % of the machine's if not given.
    pub memory_limit_bytes: Option<u64>,
    /// What one query may hold; as much as all together if not given.
    pub query_memory_limit_bytes: Option<u64>,
    /// Where queries spill; `spill` in the store's directory if not given.
    pub spill_dir: Option<PathBuf>,
    /// Partitions of a query, and so threads it keeps busy; the number of cores if not given.
    pub threads: Option<usize>,
    /// Statements that run at once, but for those about the system and INSERTs of few literal rows; as many as come if not given.
    pub queries_max: Option<usize>,
    /// How long a statement waits for its turn; as long as it takes if not given.
    pub queue_timeout_ms: Option<u64>,
    /// How long a statement may take where its session does not say; as long as it takes if not given.
    pub statement_timeout_ms: Option<u64>,
    pub maintenance: MaintenanceOptions,
    /// The way to tables of other nodes; none if not given.
    pub remote_tables: Option<Arc<dyn RemoteTables>>,
}

/// What the engine does by itself to a store it writes to; see docs/maintenance.md.
#[derive(Debug, Clone)]
pub struct MaintenanceOptions {
    /// Off: tables are compacted by OPTIMIZE TABLE alone, and logs sealed by CHECKPOINT.
    pub enabled: bool,
    /// What compactions write at most, but for those of OPTIMIZE TABLE; None: as much as they can.
    pub rate_bytes_per_s: Option<u64>,
    /// From a commit to the work it gives.
    pub delay_ms: u64,
    /// A log that has got no rows for so long becomes a segment.
    pub seal_after_ms: u64,
    /// From opening a store to the work that others left in it, whether or not anything is committed.
    pub backlog_after_ms: u64,
}

impl Default for MaintenanceOptions {
    fn default() -> Self {
        MaintenanceOptions {
            enabled: true,
            rate_bytes_per_s: Some(100 << 20),
            delay_ms: 1_000,
            seal_after_ms: 60_000,
            backlog_after_ms: 10_000,
        }
    }
}

const MEMORY_SHARE: f64 = 0.7;

impl EngineOptions {
    pub(crate) fn memory_limit(&self) -> usize {
        let limit = self.memory_limit_bytes.unwrap_or_else(|| (machine_memory_bytes() as f64 * MEMORY_SHARE) as u64);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    pub(crate) fn partitions(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or_else(cores).max(1)
    }
}

/// The memory this process may use: the machine's, or its control group's where that is less.
fn machine_memory_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    });
    let group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    // 4 GiB where the platform tells nothing: small, so that a query spills rather than dies.
    machine.into_iter().chain(group).min().unwrap_or(4 << 30)
}
