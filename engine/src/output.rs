//! A running statement: a stream of result batches and a report.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use arrow::array::{Array, RecordBatch, UInt64Array};
use arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{Metric, MetricValue};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt};
use parking_lot::Mutex;

use crate::queries::{Outcome, ResultStream, StatementEntry, StatementKind, spilled_bytes};
use crate::sql_planner::explain_error::run_error;
use common::error::EngineError;
use common::memory::QueryPool;
use common::report::{QueryReport, ReportCollector};
use table::access::ReadRecheck;
use table::transactions::TransactionSlot;

/// The sources of the report's numbers while a statement runs.
#[derive(Debug, Clone)]
pub(crate) struct ReportSources {
    pub started: Instant,
    pub planning_ms: f64,
    pub collector: Arc<ReportCollector>,
    pub pool: Arc<QueryPool>,
    /// The running plan, for its metrics.
    pub plan: Option<Arc<dyn ExecutionPlan>>,
    pub transaction: Arc<TransactionSlot>,
    /// The transaction that the statement is part of: if it fails, the transaction can only be rolled back. The session may have begun
    /// another one since.
    pub planned_in: Option<u64>,
    /// `None` for a statement of the process itself.
    pub read_recheck: Option<ReadRecheck>,
}

/// Yields batches as they are computed; dropping it cancels the query.
pub struct QueryOutput {
    schema: SchemaRef,
    kind: StatementKind,
    stream: Arc<ResultStream>,
    report_sources: ReportSources,
    rows: u64,
    bytes: u64,
    finished_ms: Option<f64>,
    /// The statement has run, and only its answer is left to be read.
    is_done: bool,
    /// Its entry in the statement registry.
    entry: Option<StatementEntry>,
}

impl QueryOutput {
    pub(crate) fn new(kind: StatementKind, stream: SendableRecordBatchStream, report_sources: ReportSources) -> Self {
        let (schema, stream) = (stream.schema(), Arc::new(ResultStream(Mutex::new(Some(stream)))));
        QueryOutput { schema, kind, stream, report_sources, rows: 0, bytes: 0, finished_ms: None, is_done: false, entry: None }
    }

    /// The answer of a statement that has run.
    pub(crate) fn done(kind: StatementKind, stream: SendableRecordBatchStream, report_sources: ReportSources) -> Self {
        QueryOutput { is_done: true, ..QueryOutput::new(kind, stream, report_sources) }
    }

    /// The answer of a write that has run.
    pub(crate) fn write_output(count: RecordBatch, report_sources: ReportSources) -> Self {
        let stream = RecordBatchStreamAdapter::new(count.schema(), futures::stream::iter([Ok(count)]));
        QueryOutput::done(StatementKind::Write, Box::pin(stream), report_sources)
    }

    /// The result of the statement of `entry`, whose output stays registered until it has ended.
    pub(crate) fn of_entry(entry: StatementEntry, done: Result<QueryOutput, EngineError>) -> Result<QueryOutput, EngineError> {
        match done {
            Ok(mut output) => {
                output.attach_entry(entry);
                Ok(output)
            }
            Err(error) => {
                entry.failed(&error);
                Err(error)
            }
        }
    }

    /// Stays registered until it has ended or is dropped.
    fn attach_entry(&mut self, entry: StatementEntry) {
        let query = entry.query();
        query.set_kind(self.kind);
        match self.is_done {
            // A stop that comes too late does not undo the statement.
            true => drop(query.commit_guard.begin_commit()),
            false => query.hold(self.kind, &self.stream),
        }
        self.entry = Some(entry);
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// What the statement reads, and where.
    pub(crate) fn collector(&self) -> &ReportCollector {
        &self.report_sources.collector
    }

    /// The current report; it is complete once the stream has ended.
    pub fn report(&self) -> QueryReport {
        let report_sources = &self.report_sources;
        let now = || report_sources.started.elapsed().as_secs_f64() * 1e3;
        let mut report = QueryReport {
            elapsed_ms: self.finished_ms.unwrap_or_else(now),
            planning_ms: report_sources.planning_ms,
            bytes_returned: self.bytes,
            rows_returned: self.rows,
            peak_memory_bytes: report_sources.pool.peak_bytes() as u64,
            node_bytes_touched: report_sources.plan.as_ref().map_or(0, node_bytes_touched),
            spilled_bytes: report_sources.plan.as_ref().map_or(0, spilled_bytes),
            ..QueryReport::default()
        };
        report_sources.collector.fill(&mut report);
        report
    }

    pub async fn collect(mut self) -> Result<(Vec<RecordBatch>, QueryReport), EngineError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await {
            batches.push(batch?);
        }
        let report = self.report();
        Ok((batches, report))
    }

    fn end(&mut self, outcome: Outcome) {
        // Frees the memory of the plan without waiting.
        let stream = self.stream.0.lock().take();
        drop(stream);
        self.finished_ms.get_or_insert(self.report_sources.started.elapsed().as_secs_f64() * 1e3);
        if let Some(entry) = &mut self.entry {
            entry.end(outcome);
        }
    }

    fn failed(&mut self, error: EngineError) -> Poll<Option<Result<RecordBatch, EngineError>>> {
        self.fail(&error);
        Poll::Ready(Some(Err(error)))
    }

    fn fail(&mut self, error: &EngineError) {
        if let Some(entry) = &mut self.entry {
            entry.note(error);
        }
        self.end(Outcome::of(error));
        self.report_sources.transaction.fail(self.report_sources.planned_in);
    }

    /// Checks that the user may still read the tables. Call it if the first row is fetched some time after planning. On an error the
    /// statement has failed.
    pub fn check_reads(&mut self) -> Result<(), EngineError> {
        let checked = self.report_sources.read_recheck.as_ref().map_or(Ok(()), ReadRecheck::check);
        if let Err(error) = &checked {
            self.fail(error);
        }
        checked
    }

    /// The error as the user sees it.
    fn explained(&self, error: EngineError) -> EngineError {
        match &self.entry {
            Some(entry) => run_error(entry.query().text.beginning(), error),
            None => error,
        }
    }

    /// Ready when the statement was stopped from outside.
    fn poll_stop(&self, context: &mut Context<'_>) -> Poll<EngineError> {
        match &self.entry {
            Some(entry) if !self.is_done => entry.query().commit_guard.poll_stop(context).map(|stop| stop.error()),
            _ => Poll::Pending,
        }
    }

    fn stopped(&self) -> EngineError {
        let stop = self.entry.as_ref().and_then(|entry| entry.query().commit_guard.stopped());
        stop.map_or(EngineError::Cancelled, |stop| stop.error())
    }

    /// `None` if the stream was taken away.
    fn poll_stream(&self, context: &mut Context<'_>) -> Option<Poll<Option<datafusion::common::Result<RecordBatch>>>> {
        self.stream.0.lock().as_mut().map(|stream| stream.poll_next_unpin(context))
    }
}

impl Stream for QueryOutput {
    type Item = Result<RecordBatch, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.finished_ms.is_some() {
            return Poll::Ready(None);
        }
        let _marked = self.entry.as_ref().map(|entry| entry.query().span.clone().entered());
        if let Poll::Ready(error) = self.poll_stop(context) {
            return self.failed(error);
        }
        let next = match self.poll_stream(context) {
            Some(Poll::Pending) => return Poll::Pending,
            Some(Poll::Ready(next)) => next,
            // The statement was stopped between the check above and this one.
            None => {
                let stopped = self.stopped();
                return self.failed(stopped);
            }
        };
        // A segment that was truncated under the query reads as zeros: no batch computed since may be returned.
        if let Err(error) = self.report_sources.collector.check_segments() {
            return self.failed(error.into());
        }
        match next {
            Some(Ok(batch)) => {
                let (rows, bytes) = (batch.num_rows() as u64, shown_bytes(&batch));
                self.rows += rows;
                self.bytes += bytes;
                let changed = (self.kind == StatementKind::Write).then(|| count_in(&batch)).flatten();
                if let Some(entry) = &mut self.entry {
                    entry.query().returned(rows, bytes);
                    changed.into_iter().for_each(|rows| entry.changed(rows));
                }
                Poll::Ready(Some(Ok(batch)))
            }
            Some(Err(error)) => {
                let error = self.explained(error.into());
                self.failed(error)
            }
            None => {
                self.end(Outcome::Done);
                Poll::Ready(None)
            }
        }
    }
}

fn count_in(batch: &RecordBatch) -> Option<u64> {
    let counts = batch.columns().first()?.as_any().downcast_ref::<UInt64Array>()?;
    (counts.len() == 1).then(|| counts.value(0))
}

/// The sum over the scans of remote tables, from the metric that EXPLAIN ANALYZE shows.
fn node_bytes_touched(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let is_meant = |metric: &Metric| matches!(metric.value(), MetricValue::Custom { name, .. } if name == "node_bytes_touched");
    let own = plan.metrics().and_then(|metrics| metrics.sum(is_meant)).map_or(0, |sum| sum.as_usize() as u64);
    own + plan.children().into_iter().map(node_bytes_touched).sum::<u64>()
}

/// The bytes of the rows of a batch, not of the buffers that it may be a slice of.
fn shown_bytes(batch: &RecordBatch) -> u64 {
    let column = |array: &arrow::array::ArrayRef| match array.data_type() {
        arrow::datatypes::DataType::Utf8View => {
            let views = arrow::array::AsArray::as_string_view(array);
            16 * views.len() + views.lengths().filter(|length| *length > 12).map(|length| length as usize).sum::<usize>()
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    };
    batch.columns().iter().map(|array| column(array) as u64).sum()
}
