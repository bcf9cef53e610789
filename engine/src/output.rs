//! A running statement: a stream of result batches and a report.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use arrow::array::{Array, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt};

use crate::error::EngineError;
use crate::memory::QueryPool;
use crate::write::TransactionSlot;
use crate::report::{QueryReport, ReportCollector};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    Query,
    /// Yields one row: the number of rows written.
    Write,
    Ddl,
    Set,
    /// BEGIN, COMMIT, ROLLBACK and what concerns savepoints.
    Transaction,
}

/// Where the report's numbers come from while a statement runs.
#[derive(Debug, Clone)]
pub(crate) struct Measures {
    pub started: Instant,
    pub planning_ms: f64,
    pub collector: Arc<ReportCollector>,
    pub pool: Arc<QueryPool>,
    /// What runs, for its metrics.
    pub plan: Option<Arc<dyn ExecutionPlan>>,
    /// Has nothing left to do but to roll back when the statement fails.
    pub transaction: Arc<TransactionSlot>,
}

/// Yields batches as they are made; dropping it cancels the query.
pub struct QueryOutput {
    schema: SchemaRef,
    kind: StatementKind,
    stream: Option<SendableRecordBatchStream>,
    measures: Measures,
    rows: u64,
    bytes: u64,
    finished_ms: Option<f64>,
}

impl QueryOutput {
    pub(crate) fn new(kind: StatementKind, stream: SendableRecordBatchStream, measures: Measures) -> Self {
        QueryOutput { schema: stream.schema(), kind, stream: Some(stream), measures, rows: 0, bytes: 0, finished_ms: None }
    }

    /// Of a write that has run.
    pub(crate) fn written(count: RecordBatch, measures: Measures) -> Self {
        let stream = RecordBatchStreamAdapter::new(count.schema(), futures::stream::iter([Ok(count)]));
        QueryOutput::new(StatementKind::Write, Box::pin(stream), measures)
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// As of now; complete once the stream has ended.
    pub fn report(&self) -> QueryReport {
        let measures = &self.measures;
        let now = || measures.started.elapsed().as_secs_f64() * 1e3;
        let mut report = QueryReport {
            elapsed_ms: self.finished_ms.unwrap_or_else(now),
            planning_ms: measures.planning_ms,
            bytes_returned: self.bytes,
            rows_returned: self.rows,
            peak_memory_bytes: measures.pool.peak_bytes() as u64,
            spilled_bytes: measures.plan.as_ref().map_or(0, spilled_bytes),
            ..QueryReport::default()
        };
        measures.collector.fill(&mut report);
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

    fn end(&mut self) {
        // Frees what the plan holds, and waits for nobody.
        self.stream = None;
        self.finished_ms.get_or_insert(self.measures.started.elapsed().as_secs_f64() * 1e3);
    }
}

impl Stream for QueryOutput {
    type Item = Result<RecordBatch, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
        let next = match stream.poll_next_unpin(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(next) => next,
        };
        // A segment cut short under the query shows zeros: no batch made since may go out.
        if let Err(error) = self.measures.collector.check_segments() {
            self.end();
            self.measures.transaction.fail();
            return Poll::Ready(Some(Err(error.into())));
        }
        Poll::Ready(match next {
            Some(Ok(batch)) => {
                self.rows += batch.num_rows() as u64;
                self.bytes += shown_bytes(&batch);
                Some(Ok(batch))
            }
            Some(Err(error)) => {
                self.end();
                self.measures.transaction.fail();
                Some(Err(error.into()))
            }
            None => {
                self.end();
                None
            }
        })
    }
}

/// What a write yields.
pub(crate) fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]))
}

pub(crate) fn count_batch(rows: u64) -> Result<RecordBatch, EngineError> {
    RecordBatch::try_new(count_schema(), vec![Arc::new(UInt64Array::from(vec![rows]))])
        .map_err(|error| EngineError::internal(error.to_string()))
}

fn spilled_bytes(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.metrics().and_then(|metrics| metrics.spilled_bytes()).unwrap_or(0) as u64;
    own + plan.children().into_iter().map(spilled_bytes).sum::<u64>()
}

/// The bytes of the rows of a batch, not of the buffers they may be a slice of.
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
