//! The operator: for each partition, the rows that can be among the k nearest.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use super::rule::{Distance, Ties};
use super::top_k::TopK;
use common::report::ReportCollector;
use semantics::cancel::yield_now;

/// The stream yields to other tasks after working this long.
const POLL_MAX: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct NearestExec {
    input: Arc<dyn ExecutionPlan>,
    distance: Distance,
    k: usize,
    ties: Ties,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl NearestExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, distance: Distance, k: usize, ties: Ties) -> NearestExec {
        let properties = Arc::new(PlanProperties::clone(input.properties()).with_emission_type(EmissionType::Final));
        NearestExec { input, distance, k, ties, properties, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for NearestExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "NearestExec: k={}, column={}", self.k, self.distance.column)?;
                if self.ties == Ties::All { write!(f, ", with all ties") } else { Ok(()) }
            }
            DisplayFormatType::TreeRender => writeln!(f, "k={}", self.k),
        }
    }
}

impl ExecutionPlan for NearestExec {
    fn name(&self) -> &str {
        "NearestExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        f(&self.distance.expr)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("NearestExec has one input");
        };
        Ok(Arc::new(NearestExec::new(input, self.distance.clone(), self.k, self.ties)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let report = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
        let reservation = MemoryConsumer::new("NearestExec").register(context.memory_pool());
        let top_k = TopK::new(self.schema(), &self.distance, self.k, self.ties, reservation, report)?;
        Ok(Box::pin(NearestStream {
            input,
            schema: self.schema(),
            top_k,
            state: StreamState::Reading,
            ready: VecDeque::new(),
            batch_rows: context.session_config().batch_size(),
            metrics: BaselineMetrics::new(&self.metrics, partition),
            abandoned: MetricBuilder::new(&self.metrics).counter("rows_abandoned", partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

struct NearestStream {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    top_k: TopK,
    state: StreamState,
    /// These batches go out before anything else happens.
    ready: VecDeque<RecordBatch>,
    batch_rows: usize,
    metrics: BaselineMetrics,
    abandoned: Count,
}

enum StreamState {
    Reading,
    /// A batch of which so many rows were processed.
    Looking(RecordBatch, usize),
    Ended,
}

impl NearestStream {
    /// Reads the next batch of the input; at its end, the result is ready.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.state = match ready!(self.input.poll_next_unpin(context)).transpose()? {
            Some(batch) => StreamState::Looking(batch, 0),
            None => {
                self.abandoned.add(self.top_k.abandoned);
                self.ready.extend(self.top_k.finish()?);
                StreamState::Ended
            }
        };
        Poll::Ready(Ok(()))
    }

    /// Returns some rows of a ready batch.
    fn give(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows().min(self.batch_rows);
        match batch.num_rows() - rows {
            0 if self.ready.is_empty() => self.top_k.handed_on(),
            0 => {}
            rest => self.ready.push_front(batch.slice(rows, rest)),
        }
        batch.slice(0, rows)
    }

    fn step(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let started = Instant::now();
        while started.elapsed() < POLL_MAX {
            if let Some(batch) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(self.give(batch))));
            }
            match std::mem::replace(&mut self.state, StreamState::Reading) {
                StreamState::Reading => ready!(self.read(context))?,
                StreamState::Looking(batch, start) if start < batch.num_rows() => {
                    let rows = self.top_k.slice_rows()?.min(batch.num_rows() - start);
                    let elapsed = self.metrics.elapsed_compute().clone();
                    let _timer = elapsed.timer();
                    self.top_k.push(&batch.slice(start, rows))?;
                    self.state = StreamState::Looking(batch, start + rows);
                    self.ready.extend(self.top_k.surplus());
                }
                StreamState::Looking(..) => {}
                StreamState::Ended => {
                    self.state = StreamState::Ended;
                    return Poll::Ready(None);
                }
            }
        }
        yield_now(context)
    }
}

impl Stream for NearestStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.step(context);
        if let Poll::Ready(Some(Err(_))) = polled {
            self.state = StreamState::Ended;
            self.ready.clear();
        }
        self.metrics.record_poll(polled)
    }
}

impl RecordBatchStream for NearestStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
