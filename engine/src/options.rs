//! Options of an engine.

use std::path::PathBuf;
use std::sync::Arc;

use table::remote_tables::RemoteTables;

#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// Opens the store for reading only, shared with other readers.
    pub read_only: bool,
    /// Continues without the rows that were lost by damage: [`pmem_store::StoreOptions::accept_loss`].
    pub accept_loss: bool,
    /// The memory limit of all queries together; by default 70 % of the machine's memory.
    pub memory_limit_bytes: Option<u64>,
    /// The memory limit of one query; by default that of all together.
    pub query_memory_limit_bytes: Option<u64>,
    /// Where queries spill; by default `spill` in the store's directory.
    pub spill_dir: Option<PathBuf>,
    /// Partitions of a query, and so the threads that it uses; by default the number of cores.
    pub threads: Option<usize>,
    /// How many statements run at once, not counting queries of system tables and INSERTs of few literal rows; unlimited by default.
    pub queries_max: Option<usize>,
    /// How long a statement may wait for admission; unlimited by default.
    pub queue_timeout_ms: Option<u64>,
    /// How long a statement may take if its session does not set a limit; unlimited by default.
    pub statement_timeout_ms: Option<u64>,
    pub maintenance: MaintenanceOptions,
    /// The directories in which statements may read and write files, with colons between them; all by default.
    pub file_dirs: Option<PathBuf>,
    /// The interpreter for functions in Python; by default there may be none.
    pub python: Option<PathBuf>,
    /// The modules that such functions may import besides the usual ones, with commas between them; `*` for any.
    pub python_imports: String,
    /// Access to tables of other nodes; none by default.
    pub remote_tables: Option<Arc<dyn RemoteTables>>,
}

/// Background maintenance of a store that is open for writing; see docs/maintenance.md.
#[derive(Debug, Clone)]
pub struct MaintenanceOptions {
    /// If false, only OPTIMIZE TABLE compacts tables and only CHECKPOINT seals logs.
    pub enabled: bool,
    /// The write rate of compactions, except for those of OPTIMIZE TABLE; `None` for no limit.
    pub rate_bytes_per_s: Option<u64>,
    /// The delay between a commit and the maintenance that it causes.
    pub delay_ms: u64,
    /// A log that received no rows for this long becomes a segment.
    pub seal_after_ms: u64,
    /// The delay between opening a store and the maintenance that earlier processes left, even if nothing is committed.
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

/// The memory of the machine, or of the process's control group if that is less.
fn machine_memory_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    });
    let group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    // 4 GiB if the platform reports nothing: small, so that a query spills and the process does not die.
    machine.into_iter().chain(group).min().unwrap_or(4 << 30)
}
