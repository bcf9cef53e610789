//! One compaction job, from its first row to its commit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::StreamExt;
use pmem_store::{Appender, ReplacedSegment, Replacement, SealedSegment, Store, StoreError, TableSnapshot};

use super::memory::{JobMemory, Need};
use super::pick::Job;
use super::plan::ReadPlan;
use super::rate_limiter::RateLimiter;
use super::row_mapping::RowMapping;
use super::runs::{CompactionOutcome, OpenRun, Runs};
use super::segment_summary::TARGET_BYTES;
use super::stop_signal::StopSignal;
use common::error::EngineError;
use common::types::physical_schema;
use table::blocking::blocking;
use table::scan::ScanPart;

/// The name of the commit in the history of versions.
const OPERATION: &str = "COMPACT";
/// A segment may have this percentage of the job's live bytes, so that a job up to the target becomes one segment.
const ROOM_PERCENT: u64 = 125;
/// The minimum size of a segment, so that the smallest job has room for one.
const SEGMENT_BYTES_MIN: u64 = 4 << 20;

/// Pauses are split into steps of this length, so that other work goes on in between.
const PAUSE_STEP: Duration = Duration::from_secs(1);

/// Runs compaction jobs.
pub struct JobRunner<'a> {
    pub store: &'a Arc<Store>,
    pub runs: &'a Arc<Runs>,
    pub runtime: Arc<RuntimeEnv>,
    /// The part of the runtime's memory that one job may take.
    pub memory_bytes: usize,
    pub partitions: usize,
    pub stop: Arc<StopSignal>,
    pub started_by: &'static str,
    /// The thread belongs to the job, so that blocking calls may block it.
    pub owns_thread: bool,
    pub pace: RateLimiter,
    /// Called between two batches, and every second of a pause.
    pub meanwhile: Box<dyn FnMut() + Send + 'a>,
}

/// A job that has reserved its memory.
pub struct PreparedJob<'a> {
    table: &'a TableSnapshot,
    job: &'a Job,
    /// `None` if no row is left to read.
    reading: Option<JobInput>,
}

struct JobInput {
    plan: ReadPlan,
    sources: Vec<Arc<ScanPart>>,
    memory: JobMemory,
}

impl JobRunner<'_> {
    /// Reserves memory for a job. `table` is the table as of when the job was picked.
    pub fn prepare<'a>(&self, table: &'a TableSnapshot, job: &'a Job) -> Result<PreparedJob<'a>, EngineError> {
        if job.live_rows() == 0 {
            return Ok(PreparedJob { table, job, reading: None });
        }
        let parts = parts_of(table, job)?;
        let sources: Vec<Arc<ScanPart>> = parts.iter().map(|(part, _)| Arc::clone(part)).collect();
        let plan = ReadPlan::new(table, parts, self.memory_bytes);
        let need = plan.need();
        let need = Need { fixed_bytes: need.fixed_bytes + RowMapping::bytes_of(job.rows()), ..need };
        let memory = JobMemory::take(&self.runtime, need, self.memory_bytes)?;
        Ok(PreparedJob { table, job, reading: Some(JobInput { plan, sources, memory }) })
    }

    /// Rewrites the segments, or drops them if none of their rows are left.
    pub async fn run(&mut self, prepared: PreparedJob<'_>) -> Result<CompactionOutcome, EngineError> {
        let PreparedJob { table, job, reading } = prepared;
        let run = self.runs.begin(table, job, self.started_by);
        match reading {
            None => self.drop_segments(table, job, run).await,
            Some(reading) => self.rewrite(table, job, reading, run).await,
        }
    }

    /// Drops the segments; nothing is left to be written.
    async fn drop_segments(&mut self, table: &TableSnapshot, job: &Job, run: OpenRun) -> Result<CompactionOutcome, EngineError> {
        let segments: HashMap<u64, _> = table.segments().iter().map(|segment| (segment.id(), segment)).collect();
        let removed = job.pieces.iter().filter_map(|piece| segments.get(&piece.id)).map(|segment| ReplacedSegment {
            segment: segment.id(),
            deletions: segment.deletions().cloned(),
            row_mapping: Vec::new(),
        });
        let replacement = replacement(table, removed.collect());
        let (store, stop) = (Arc::clone(self.store), Arc::clone(&self.stop));
        let work = move || if stop.is_set() { Err(EngineError::Cancelled) } else { commit(&store, replacement) };
        on_a_thread(self.owns_thread, move || settle(run, work())).await
    }

    async fn rewrite(
        &mut self,
        table: &TableSnapshot,
        job: &Job,
        reading: JobInput,
        run: OpenRun,
    ) -> Result<CompactionOutcome, EngineError> {
        let JobInput { plan, sources, memory } = reading;
        let (appender, row_mapping) = match self.write_segments(table, job, plan, &sources, &memory).await {
            Ok(written) => written,
            Err(error) => return settle(run, Err(error)),
        };
        let replacement = replacement(table, row_mapping.into_replaced());
        let (store, stop) = (Arc::clone(self.store), Arc::clone(&self.stop));
        // The outcome is recorded on that thread, because the waiting caller may be dropped during the commit.
        on_a_thread(self.owns_thread, move || settle(run, finish(&store, appender, replacement, &sources, &stop))).await
    }

    /// Writes all rows of the job into new segments and records where each went.
    async fn write_segments(
        &mut self,
        table: &TableSnapshot,
        job: &Job,
        plan: ReadPlan,
        sources: &[Arc<ScanPart>],
        memory: &JobMemory,
    ) -> Result<(Appender, RowMapping), EngineError> {
        let mut row_mapping = RowMapping::new(sources);
        let rows = plan.run(memory, self.partitions)?;
        let appender = self.store.appender(table.record().id, physical_schema(table.schema()))?;
        let appender = appender.with_target_bytes(target_bytes(job));
        let appender = self.write(rows, appender, &mut row_mapping, job).await?;
        if row_mapping.written_rows() != job.live_rows() {
            let (actual, expected) = (row_mapping.written_rows(), job.live_rows());
            return Err(EngineError::internal(format!("a compaction found {actual} rows and not {expected}")));
        }
        Ok((appender, row_mapping))
    }

    /// Writes all rows. Each batch is written before the next one is computed.
    async fn write(
        &mut self,
        mut rows: SendableRecordBatchStream,
        mut appender: Appender,
        row_mapping: &mut RowMapping,
        job: &Job,
    ) -> Result<Appender, EngineError> {
        let row_bytes = job.live_bytes() as f64 / job.live_rows().max(1) as f64;
        loop {
            let next = tokio::select! {
                biased;
                () = self.stop.wait() => return Err(EngineError::Cancelled),
                next = rows.next() => next,
            };
            let Some(batch) = next.transpose()? else { return Ok(appender) };
            let (batch, count) = without_ids(batch, row_mapping)?;
            let write = move || appender.write(batch).map(|()| appender).map_err(EngineError::from);
            appender = on_a_thread(self.owns_thread, write).await?;
            (self.meanwhile)();
            if let Some(pause) = self.pace.wrote((row_bytes * count as f64) as u64) {
                self.pause(pause).await;
            }
        }
    }

    async fn pause(&mut self, mut pause: Duration) {
        while !pause.is_zero() && !self.stop.is_set() {
            let step = pause.min(PAUSE_STEP);
            tokio::select! {
                () = self.stop.wait() => {}
                () = tokio::time::sleep(step) => {}
            }
            (self.meanwhile)();
            pause -= step;
        }
    }
}

/// Runs blocking work on the job's own thread, or on a thread for such work.
async fn on_a_thread<T: Send + 'static>(
    owns_this_one: bool,
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    if owns_this_one { work() } else { blocking(work).await }
}

/// Removes the row ids from the batch and records where its rows go.
fn without_ids(batch: RecordBatch, row_mapping: &mut RowMapping) -> Result<(RecordBatch, usize), EngineError> {
    let last = batch.num_columns().saturating_sub(1);
    let Some(ids) = batch.columns().last().and_then(|ids| ids.as_primitive_opt::<UInt64Type>()) else {
        return Err(EngineError::internal("rows to be compacted have no ids"));
    };
    row_mapping.add(ids)?;
    let columns: Vec<usize> = (0..last).collect();
    let rows = batch.project(&columns).map_err(|error| EngineError::internal(error.to_string()))?;
    Ok((rows, batch.num_rows()))
}

/// The parts, each with whether it is sorted by the key.
fn parts_of(table: &TableSnapshot, job: &Job) -> Result<Vec<(Arc<ScanPart>, bool)>, EngineError> {
    let physical = physical_schema(table.schema());
    let segments: HashMap<u64, _> = table.segments().iter().map(|segment| (segment.id(), segment)).collect();
    let part = |(id, is_sorted): (u64, bool)| match segments.get(&id) {
        Some(segment) => Ok((Arc::new(ScanPart::open(table, segment, &physical)?), is_sorted)),
        None => Err(EngineError::internal(format!("segment {id} is none of the table it was picked from"))),
    };
    job.pieces.iter().map(|piece| (piece.id, piece.is_sorted)).map(part).collect()
}

/// The target size of segments: one segment if possible, so that a merge does not leave a small remainder.
fn target_bytes(job: &Job) -> u64 {
    let expected = (job.live_bytes() / 100 * ROOM_PERCENT).max(SEGMENT_BYTES_MIN);
    if expected <= TARGET_BYTES / 100 * ROOM_PERCENT { expected } else { TARGET_BYTES }
}

/// The replacement without the new segments.
fn replacement(table: &TableSnapshot, removed: Vec<ReplacedSegment>) -> Replacement {
    let record = table.record();
    let sorted = !record.cluster_key.is_empty();
    Replacement { table: record.id, schema_version: record.schema_version, removed, added: Vec::new(), sorted }
}

/// Seals the new segments and replaces the old ones with them.
fn finish(
    store: &Store,
    appender: Appender,
    mut replacement: Replacement,
    sources: &[Arc<ScanPart>],
    stop: &StopSignal,
) -> Result<Vec<SealedSegment>, EngineError> {
    replacement.added = appender.finish()?;
    // A file that was truncated before its last row was written reads as zeros instead of rows.
    let intact = sources.iter().try_for_each(|part| part.check_intact()).map_err(EngineError::from);
    let intact = intact.and_then(|()| if stop.is_set() { Err(EngineError::Cancelled) } else { Ok(()) });
    if let Err(error) = intact {
        store.discard(replacement.table, &replacement.added);
        return Err(error);
    }
    commit(store, replacement)
}

fn commit(store: &Store, replacement: Replacement) -> Result<Vec<SealedSegment>, EngineError> {
    let added = replacement.added.clone();
    let mut transaction = store.begin().inspect_err(|_| store.discard(replacement.table, &added))?;
    transaction.replace_segments(replacement)?;
    transaction.commit(OPERATION)?;
    Ok(added)
}

fn settle(run: OpenRun, result: Result<Vec<SealedSegment>, EngineError>) -> Result<CompactionOutcome, EngineError> {
    match result {
        Ok(added) => {
            run.done(added.len() as u64, added.iter().map(|segment| segment.size_bytes).sum());
            Ok(CompactionOutcome::Done)
        }
        Err(EngineError::Store(StoreError::Conflict { .. } | StoreError::TableGone)) => {
            run.ended(CompactionOutcome::Conflict);
            Ok(CompactionOutcome::Conflict)
        }
        Err(EngineError::Cancelled) => {
            run.ended(CompactionOutcome::Stopped);
            Ok(CompactionOutcome::Stopped)
        }
        Err(error) => {
            run.ended(CompactionOutcome::Failed(error.to_string()));
            Err(error)
        }
    }
}
