//! The compactions, moves and prefetches of one engine, and the thread that does them.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::runtime_env::RuntimeEnv;
use parking_lot::Mutex;
use pmem_store::{Store, TableSnapshot};

use super::control::Control;
use super::limits;
use super::thread::MaintenanceThread;
use crate::compaction::memory::background_bytes;
use crate::compaction::permits::CompactionPermits;
use crate::compaction::pick::{Effort, pick_jobs};
use crate::compaction::prefetches::Prefetches;
use crate::compaction::runs::Runs;
use crate::compaction::tier_moves::TierMoves;
use crate::options::MaintenanceOptions;
use common::error::EngineError;

/// Dropping the engine waits for the current step of the thread, but no longer than this.
const PATIENCE: Duration = Duration::from_millis(500);

/// The compactions of one engine and their background thread, which stops when this is dropped.
#[derive(Debug)]
pub struct Maintenance {
    options: MaintenanceOptions,
    runtime: Arc<RuntimeEnv>,
    compaction_permits: Arc<CompactionPermits>,
    runs: Arc<Runs>,
    tier_moves: Arc<TierMoves>,
    prefetches: Arc<Prefetches>,
    control: Arc<Control>,
    /// Kept until the thread is started.
    upkeep: Mutex<Option<MaintenanceThread>>,
}

impl Maintenance {
    pub fn new(options: MaintenanceOptions, store: &Arc<Store>, runtime: &Arc<RuntimeEnv>) -> Maintenance {
        let (compaction_permits, runs, control) = (Arc::<CompactionPermits>::default(), Arc::<Runs>::default(), Arc::<Control>::default());
        if options.enabled && !store.is_read_only() {
            let control = Arc::clone(&control);
            store.on_tier_reads(move || control.wake());
        }
        let (tier_moves, prefetches) = (Arc::<TierMoves>::default(), Arc::<Prefetches>::default());
        let is_on = options.enabled && !store.is_read_only();
        let upkeep = is_on
            .then(|| MaintenanceThread::new(&options, store, runtime, &compaction_permits, (&runs, &tier_moves, &prefetches), &control));
        Maintenance {
            options,
            runtime: Arc::clone(runtime),
            compaction_permits,
            runs,
            tier_moves,
            prefetches,
            control,
            upkeep: Mutex::new(upkeep),
        }
    }

    pub fn options(&self) -> &MaintenanceOptions {
        &self.options
    }

    pub fn compaction_permits(&self) -> &Arc<CompactionPermits> {
        &self.compaction_permits
    }

    pub fn runs(&self) -> &Arc<Runs> {
        &self.runs
    }

    pub fn tier_moves(&self) -> &TierMoves {
        &self.tier_moves
    }

    pub fn prefetches(&self) -> &Prefetches {
        &self.prefetches
    }

    /// Starts the thread, which sleeps until a commit, or until it is time for the work that earlier processes left.
    pub fn start(&self) {
        if let Some(upkeep) = self.upkeep.lock().take() {
            let started = std::thread::Builder::new().name("quiver-upkeep".into()).spawn(move || upkeep.run());
            if let Err(error) = started {
                tracing::warn!(%error, "tables are not compacted by themselves: no thread could be started");
            }
        }
    }

    /// Called after a commit.
    pub fn wake(&self) {
        self.control.wake();
    }

    /// The number and bytes of a table's segments that background compaction will rewrite.
    pub fn backlog(&self, table: &TableSnapshot) -> Result<(u64, u64), EngineError> {
        let jobs = pick_jobs(table, Effort::Background, limits(background_bytes(&self.runtime.memory_pool)))?;
        let segments = jobs.iter().map(|job| job.pieces.len() as u64).sum();
        Ok((segments, jobs.iter().map(|job| job.size_bytes()).sum()))
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.control.stop(PATIENCE);
    }
}
