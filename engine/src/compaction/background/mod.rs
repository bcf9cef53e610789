//! Background maintenance of a store that is open for writing: sealing logs, compaction, moves between tiers, expiry of versions.
//!
//! `control` is the state that the thread shares with the engine, `thread` its loop; `logs`, `tables`, `tiers` and `expiry` know when something is
//! due.
//!
//! **Invariant:** the thread holds the store only while it works. So the store is closed with the engine, and not at the next wakeup of
//! the thread.

mod control;
mod expiry;
mod logs;
mod tables;
mod thread;
mod tiers;

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::runtime_env::RuntimeEnv;
use parking_lot::Mutex;
use pmem_store::{Store, TableSnapshot};

use self::control::Control;
use self::thread::MaintenanceThread;
use super::memory::background_bytes;
use super::permits::CompactionPermits;
use super::pick::{Effort, Limits, pick_jobs};
use super::runs::Runs;
use super::tier_moves::TierMoves;
use crate::options::MaintenanceOptions;
use common::error::EngineError;

/// The bytes that one job may write. Larger jobs would take more memory and time without making reads faster.
const JOB_BYTES_MAX: u64 = 2 << 30;
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
    control: Arc<Control>,
    /// Kept until the thread is started.
    upkeep: Mutex<Option<MaintenanceThread>>,
}

impl Maintenance {
    pub fn new(options: MaintenanceOptions, store: &Arc<Store>, runtime: &Arc<RuntimeEnv>) -> Maintenance {
        let (compaction_permits, runs, control) = (Arc::<CompactionPermits>::default(), Arc::<Runs>::default(), Arc::<Control>::default());
        let tier_moves = Arc::<TierMoves>::default();
        let is_on = options.enabled && !store.is_read_only();
        let upkeep = is_on.then(|| MaintenanceThread::new(&options, store, runtime, &compaction_permits, (&runs, &tier_moves), &control));
        Maintenance { options, runtime: Arc::clone(runtime), compaction_permits, runs, tier_moves, control, upkeep: Mutex::new(upkeep) }
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

/// What will happen to the work that could not be done.
fn outlook(store: &Store) -> &'static str {
    match store.poisoned() {
        Some(_) => "nothing is done before the store is opened again",
        None => "it is tried again later",
    }
}

fn limits(memory_bytes: usize) -> Limits {
    Limits::of(memory_bytes as u64, JOB_BYTES_MAX)
}
