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
use common::error::EngineError;
use table::blocking::blocking;

/// The bytes that one job may write: a whole table up to this size; beyond it a limit on the work that a failure would lose.
const JOB_BYTES_MAX: u64 = 64 << 30;
/// The fraction of the statement's memory.
const MEMORY_SHARE: usize = 2;
/// How many conflicts with other changes of the table are tolerated.
const CONFLICTS_MAX: u32 = 3;

/// The size of a table before and after.
#[derive(Debug, Clone, Copy, Default)]
pub struct Optimized {
    pub segments_before: u64,
    pub segments_after: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// The resources of a statement.
pub struct Resources<'a> {
    pub store: &'a Arc<Store>,
    pub maintenance: &'a Maintenance,
    /// With the memory limit of the statement.
    pub runtime: &'a Arc<RuntimeEnv>,
    pub memory_limit_bytes: usize,
    pub partitions: usize,
}

/// Seals the table's logs and rewrites everything that is worth it. If it is dropped early, the jobs done so far stay.
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

/// Seal and commit run on another thread, which would go on after this is dropped: it must stop before the commit.
struct StopWhenDropped(Arc<StopSignal>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Returns false if a job met a conflict; the jobs before it are done.
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

/// Reads key ranges of segments, which may need I/O.
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

/// Number of segments, how many of them are logs, and bytes.
fn size(table: &TableSnapshot) -> (u64, u64) {
    ((table.segments().len() + table.tails().len()) as u64, table.size_bytes())
}

/// Seals the logs of all tables. An error of one is returned after the others are sealed and flushed.
pub async fn checkpoint(store: &Arc<Store>) -> Result<(), EngineError> {
    let store = Arc::clone(store);
    blocking(move || {
        let tables: BTreeSet<TableId> = store.logs().into_iter().map(|log| log.table).collect();
        let mut failed = None;
        for table in tables {
            match store.seal_logs(table) {
                // The table was dropped meanwhile.
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
