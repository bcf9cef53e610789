//! The maintenance thread: it looks for work after a commit, and when something is due.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use datafusion::execution::runtime_env::RuntimeEnv;
use pmem_store::{Store, StoreError, TableRecord, TableSnapshot};
use tokio::runtime::Builder;

use super::control::Control;
use super::expiry::Expiry;
use super::logs::LogWatch;
use super::prefetch::PrefetchWatch;
use super::tables::TableWatch;
use super::tiers::TierWatch;
use super::{limits, outlook};
use crate::compaction::job::JobRunner;
use crate::compaction::memory::background_bytes;
use crate::compaction::permits::CompactionPermits;
use crate::compaction::pick::{Effort, pick_jobs};
use crate::compaction::prefetches::Prefetches;
use crate::compaction::rate_limiter::RateLimiter;
use crate::compaction::runs::{CompactionOutcome, Runs};
use crate::compaction::stop_signal::StopSignal;
use crate::compaction::tier_moves::TierMoves;
use crate::options::MaintenanceOptions;
use common::error::EngineError;

/// How often logs are checked during a long job.
const LOGS_EVERY: Duration = Duration::from_secs(1);
/// How often the touches of tables are saved.
const SAVE_EVERY: Duration = Duration::from_secs(600);
/// The wait when queries hold all memory.
const MEMORY_AGAIN: Duration = Duration::from_secs(5);

/// The state of the thread.
pub struct MaintenanceThread {
    options: MaintenanceOptions,
    store: Weak<Store>,
    runtime: Arc<RuntimeEnv>,
    compaction_permits: Arc<CompactionPermits>,
    runs: Arc<Runs>,
    tier_moves: Arc<TierMoves>,
    prefetches: Arc<Prefetches>,
    control: Arc<Control>,
    tables: TableWatch,
    tiers: TierWatch,
    prefetch: PrefetchWatch,
    /// When the touches of tables are saved.
    save_at: Instant,
    logs: LogWatch,
    expiry: Expiry,
    /// When to look for work that earlier processes left; `None`: that was done.
    backlog_at: Option<Instant>,
}

impl std::fmt::Debug for MaintenanceThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upkeep").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What happens between the steps of a copy: logs are sealed, the rate is kept, and a close ends it.
fn step_of_copy<'a>(
    store: &'a Store,
    logs: &'a mut LogWatch,
    runs: &'a Runs,
    control: &'a Control,
    rate_bytes_per_s: Option<u64>,
) -> impl FnMut(u64) -> Result<(), StoreError> + 'a {
    let (mut pace, mut looked) = (RateLimiter::new(rate_bytes_per_s), Instant::now());
    move |bytes| {
        if looked.elapsed() >= LOGS_EVERY {
            logs.seal(store, runs);
            looked = Instant::now();
        }
        if let Some(pause) = pace.wrote(bytes) {
            control.pause(pause);
        }
        match control.is_stopping() {
            true => Err(StoreError::Refused("the engine is being closed".into())),
            false => Ok(()),
        }
    }
}

impl MaintenanceThread {
    pub fn new(
        options: &MaintenanceOptions,
        store: &Arc<Store>,
        runtime: &Arc<RuntimeEnv>,
        compaction_permits: &Arc<CompactionPermits>,
        (runs, tier_moves, prefetches): (&Arc<Runs>, &Arc<TierMoves>, &Arc<Prefetches>),
        control: &Arc<Control>,
    ) -> MaintenanceThread {
        MaintenanceThread {
            options: options.clone(),
            store: Arc::downgrade(store),
            runtime: Arc::clone(runtime),
            compaction_permits: Arc::clone(compaction_permits),
            runs: Arc::clone(runs),
            tier_moves: Arc::clone(tier_moves),
            prefetches: Arc::clone(prefetches),
            control: Arc::clone(control),
            tables: TableWatch::default(),
            tiers: TierWatch::default(),
            prefetch: PrefetchWatch::default(),
            save_at: Instant::now() + SAVE_EVERY,
            logs: LogWatch::new(Duration::from_millis(options.seal_after_ms)),
            expiry: Expiry::default(),
            backlog_at: Some(Instant::now() + Duration::from_millis(options.backlog_after_ms)),
        }
    }

    pub fn run(mut self) {
        // As the queries of a server do: it must not come before them.
        pmem_store::lower_thread_priority();
        let delay = Duration::from_millis(self.options.delay_ms);
        let mut wait = self.backlog_in();
        // First a pause: commits come in bursts, and a process may have been started for a single one.
        while self.control.wait(wait) && self.control.pause(delay) {
            let Some(working) = self.control.begin() else { return };
            let Some(store) = self.store.upgrade() else { return };
            if let Some(reason) = store.poisoned() {
                return tracing::error!(reason, "nothing is compacted any more; check the disk and open the store again");
            }
            // A runtime for each round: tasks that a stopped job leaves behind go with it.
            let tasks = match Builder::new_current_thread().enable_time().build() {
                Ok(tasks) => tasks,
                Err(error) => return tracing::warn!(%error, "tables are not compacted by themselves any more"),
            };
            wait = Some(tasks.block_on(self.round(&store)));
            drop(tasks);
            // This may close the store, which must happen before `control` says that the thread has released it.
            drop(store);
            drop(working);
        }
    }

    /// Does all work that is due, and returns when to look again if nothing is committed.
    async fn round(&mut self, store: &Arc<Store>) -> Duration {
        let mut next_log = self.logs.seal(store, &self.runs);
        if self.backlog_in() == Some(Duration::ZERO) {
            self.use_tables_with_backlog(store);
        }
        while !self.control.is_stopping() && (self.compact_tables(store).await || self.move_segment(store)) {
            next_log = self.logs.seal(store, &self.runs);
            self.expiry.expire(store);
        }
        self.prefetch(store);
        if self.save_at <= Instant::now() {
            store.save_touches();
            self.save_at = Instant::now() + SAVE_EVERY;
        }
        let due = [next_log, self.tables.next(Instant::now()), self.backlog_in(), self.tiers.next()];
        let next = due.into_iter().flatten();
        let expiry = if self.control.is_stopping() { Duration::ZERO } else { self.expiry.expire(store) };
        next.fold(expiry, Duration::min)
    }

    /// Moves one segment to the tier of its table; returns whether there was one.
    fn move_segment(&mut self, store: &Arc<Store>) -> bool {
        let mut go_on = step_of_copy(store, &mut self.logs, &self.runs, &self.control, self.options.rate_bytes_per_s);
        let moved = self.tiers.move_next(store, &self.tier_moves, &mut go_on);
        moved.unwrap_or_else(|error| {
            tracing::warn!(%error, "no segment is moved to the tier of its table; {}", outlook(store));
            false
        })
    }

    /// Copies to memory what belongs to something that was read.
    fn prefetch(&mut self, store: &Arc<Store>) {
        if self.control.is_stopping() {
            return;
        }
        let mut go_on = step_of_copy(store, &mut self.logs, &self.runs, &self.control, self.options.rate_bytes_per_s);
        if let Err(error) = self.prefetch.prefetch(store, &self.prefetches, &mut go_on) {
            tracing::warn!(%error, "nothing is prefetched; {}", outlook(store));
        }
    }

    fn backlog_in(&self) -> Option<Duration> {
        self.backlog_at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Marks tables as used that were not used since the store was opened but need maintenance. All others are forgotten again, because
    /// there may be many.
    fn use_tables_with_backlog(&mut self, store: &Arc<Store>) {
        let Ok(snapshot) = store.snapshot() else { return };
        let limits = limits(background_bytes(&self.runtime.memory_pool));
        for record in snapshot.tables().unwrap_or_default() {
            if self.control.is_stopping() {
                return;
            }
            let has_jobs = |table: TableSnapshot| Ok(!pick_jobs(&table, Effort::Background, limits)?.is_empty());
            let looked: Result<bool, EngineError> =
                snapshot.glance(record.id).map_err(EngineError::from).and_then(|table| table.map_or(Ok(false), has_jobs));
            let used = match looked {
                Ok(true) => snapshot.table_by_id(record.id).map(|_| ()).map_err(EngineError::from),
                other => other.map(|_| ()),
            };
            if let Err(error) = used {
                tracing::warn!(table = %record.name, %error, "nobody knows whether a table has to be compacted");
            }
        }
        self.backlog_at = None;
    }

    /// Runs one job for each table that has some; returns whether there was any.
    async fn compact_tables(&mut self, store: &Arc<Store>) -> bool {
        let Ok(snapshot) = store.snapshot() else { return false };
        let tables = snapshot.tables_in_use();
        drop(snapshot);
        self.tables.forget_all_but(&tables);
        let mut has_worked = false;
        for table in tables {
            if self.control.is_stopping() {
                return false;
            }
            if !self.tables.is_due(&table, Instant::now()) {
                continue;
            }
            let outcome = self.compact(store, &table).await.unwrap_or_else(|error| {
                tracing::warn!(table = %table.name, %error, "a table could not be compacted; {}", outlook(store));
                Some(CompactionOutcome::Failed(error.to_string()))
            });
            if let Some(outcome) = outcome {
                has_worked |= outcome == CompactionOutcome::Done;
                self.tables.ended(table.id, &outcome, Instant::now());
            }
        }
        has_worked
    }

    /// `None` if there was nothing to do.
    async fn compact(&mut self, store: &Arc<Store>, record: &TableRecord) -> Result<Option<CompactionOutcome>, EngineError> {
        let stop = Arc::new(StopSignal::default());
        let Some(_turn) = self.compaction_permits.try_take(record.id, &stop) else { return Ok(Some(CompactionOutcome::Stopped)) };
        let Some(table) = store.snapshot()?.table(&record.namespace, &record.name)? else { return Ok(None) };
        let memory_bytes = background_bytes(&self.runtime.memory_pool);
        let limits = self.tables.limits(record.id, limits(memory_bytes));
        let jobs = pick_jobs(&table, Effort::Background, limits)?;
        let Some(job) = jobs.first() else {
            self.tables.settled(table.record());
            return Ok(None);
        };
        let mut looked = Instant::now();
        let (logs, runs) = (&mut self.logs, Arc::clone(&self.runs));
        let mut worker = JobRunner {
            store,
            runs: &self.runs,
            runtime: Arc::clone(&self.runtime),
            memory_bytes,
            partitions: 1,
            stop: Arc::clone(&stop),
            started_by: "background",
            owns_thread: true,
            pace: RateLimiter::new(self.options.rate_bytes_per_s),
            meanwhile: Box::new(move || {
                if looked.elapsed() >= LOGS_EVERY {
                    logs.seal(store, &runs);
                    looked = Instant::now();
                }
            }),
        };
        let prepared = match worker.prepare(&table, job) {
            Err(EngineError::Memory { .. }) => {
                self.tables.postpone(record.id, Instant::now() + MEMORY_AGAIN);
                return Ok(None);
            }
            prepared => prepared?,
        };
        self.control.set_job(Some(&stop));
        let outcome = worker.run(prepared).await;
        self.control.set_job(None);
        outcome.map(Some)
    }
}
