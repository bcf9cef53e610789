//! OPTIMIZE TABLE and CHECKPOINT: the work of the background thread, run now by the statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnv;
use pmem_store::{Store, StoreError, TableId, TableSnapshot};

use super::Maintenance;
use super::job::JobRunner;
use super::pick::{Effort, Job, Limits, pick_jobs};
use super::rate_limiter::RateLimiter;
use super::runs::CompactionOutcome;
use super::stop_signal::StopSignal;
use crate::blocking::blocking;
use common::error::EngineError;

/// What one job may write: all of a table that is no larger, and else no more than would be lost with it.
const JOB_BYTES_MAX: u64 = 64 << 30;
/// Of the memory that the statement may have.
const MEMORY_SHARE: usize = 2;
/// So often others may change the table in a way that a compaction cannot go together with.
const CONFLICTS_MAX: u32 = 3;

/// What a table consisted of before and after.
#[derive(Debug, Clone, Copy, Default)]
pub struct Optimized {
    pub segments_before: u64,
    pub segments_after: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// What a statement works with.
pub struct Resources<'a> {
    pub store: &'a Arc<Store>,
    pub maintenance: &'a Maintenance,
    /// With the memory that the statement may take.
    pub runtime: &'a Arc<RuntimeEnv>,
    pub memory_limit_bytes: usize,
    pub partitions: usize,
}

/// Seals the table's logs and rewrites whatever is worth it. Dropped before its end, it leaves the
/// table as it is by then.
pub async fn optimize_table(resources: Resources<'_>, table: TableId, full: bool) -> Result<Optimized, EngineError> {
    let Resources { store, maintenance, runtime, memory_limit_bytes, partitions } = resources;
    let _turn = maintenance.compaction_permits().take(table).await;
    let (segments_before, bytes_before) = size(&current(store, table)?);
    let sealing = Arc::clone(store);
    blocking(move || Ok(sealing.seal_logs(table)?)).await?;
    let memory_bytes = memory_limit_bytes / MEMORY_SHARE;
    let stop = StopWhenDropped(Arc::default());
    let mut worker = JobRunner {
        store,
        runs: maintenance.runs(),
        runtime: Arc::clone(runtime),
        memory_bytes,
        partitions,
        stop: Arc::clone(&stop.0),
        started_by: "OPTIMIZE",
        owns_thread: false,
        pace: RateLimiter::new(None),
        meanwhile: Box::new(|| {}),
    };
    let effort = if full { Effort::Full } else { Effort::Optimize };
    let limits = Limits::of(memory_bytes as u64, JOB_BYTES_MAX);
    let mut conflicts = 0;
    loop {
        let (table, jobs) = picked(store, table, effort, limits).await?;
        match run_all(&mut worker, &table, &jobs).await? {
            true => break,
            false if conflicts == CONFLICTS_MAX => {
                return Err(StoreError::Conflict { table: table.record().name.clone() }.into());
            }
            false => conflicts += 1,
        }
    }
    let (segments_after, bytes_after) = size(&current(store, table)?);
    Ok(Optimized { segments_before, segments_after, bytes_before, bytes_after })
}

/// Sealing and commit are on another thread, which goes on when nobody waits for it: it is to stop before the commit.
struct StopWhenDropped(Arc<StopSignal>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// False if one of them met a conflict; those before it are done.
async fn run_all(worker: &mut JobRunner<'_>, table: &TableSnapshot, jobs: &[Job]) -> Result<bool, EngineError> {
    for job in jobs {
        match worker.run(worker.prepare(table, job)?).await? {
            CompactionOutcome::Done => {}
            CompactionOutcome::Conflict => return Ok(false),
            CompactionOutcome::Stopped => return Err(EngineError::Cancelled),
            CompactionOutcome::Failed(message) => return Err(EngineError::internal(message)),
        }
    }
    Ok(true)
}

/// Looks into segments, which may have to be read for it.
async fn picked(store: &Arc<Store>, table: TableId, effort: Effort, limits: Limits) -> Result<(TableSnapshot, Vec<Job>), EngineError> {
    let store = Arc::clone(store);
    blocking(move || {
        let table = current(&store, table)?;
        let jobs = pick_jobs(&table, effort, limits)?;
        Ok((table, jobs))
    })
    .await
}

fn current(store: &Store, table: TableId) -> Result<TableSnapshot, EngineError> {
    Ok(store.snapshot()?.table_by_id(table)?.ok_or(StoreError::TableGone)?)
}

/// Segments, logs among them, and bytes.
fn size(table: &TableSnapshot) -> (u64, u64) {
    ((table.segments().len() + table.tails().len()) as u64, table.size_bytes())
}

/// Seals the logs of all tables. What is wrong with one is said when those of the others are sealed and flushed.
pub async fn checkpoint(store: &Arc<Store>) -> Result<(), EngineError> {
    let store = Arc::clone(store);
    blocking(move || {
        let tables: BTreeSet<TableId> = store.logs().into_iter().map(|log| log.table).collect();
        let mut failed = None;
        for table in tables {
            match store.seal_logs(table) {
                // Dropped meanwhile.
                Ok(_) | Err(StoreError::TableGone) => {}
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        let flushed = store.flush();
        Ok(failed.map_or(flushed, Err)?)
    })
    .await
}
