//! Inserts pauses between batches: after some milliseconds the task yields.
//!
//! Tokio's own budget counts batches, and one batch may take minutes.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, resources_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::statistics::ChildStats;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::{Stream, StreamExt};

use super::adaptive_batch::AdaptiveBatch;
use super::buffers::with_few_buffers;
use super::cooperative::yield_now;
use super::elements::Elements;

const YIELD_AFTER: Duration = Duration::from_millis(10);
/// A piece that takes less than this is doubled, one that takes more than `YIELD_AFTER` is halved.
const PIECE_SHORT: Duration = Duration::from_millis(3);
const PIECE_ROWS_MAX: usize = 1 << 20;

/// Wraps an operator and looks like it, in EXPLAIN ANALYZE too; only the pace of its batches differs.
#[derive(Debug)]
pub struct PacedExec {
    operator: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    cut: BatchCut,
    /// Whether it has run, for an operator that may run only once.
    has_run: Option<AtomicBool>,
}

/// How batches are split.
#[derive(Debug, Clone)]
enum BatchCut {
    Whole,
    /// Into pieces that the reader processes in some milliseconds.
    ByTime,
    /// Into pieces of which the reader makes some megabytes.
    BySize(Arc<AdaptiveBatch>),
    /// The same for a reader that makes rows of the elements of lists.
    ByElements(Arc<Elements>),
}

impl PacedExec {
    /// Replaces `old` by `new`, which computes the same rows. The properties stay the same object, so the operators above see no change.
    /// They keep their own properties, and the dynamic filters they share with scans.
    pub fn in_place_of(old: &Arc<dyn ExecutionPlan>, new: Arc<dyn ExecutionPlan>) -> Self {
        PacedExec { operator: new, properties: Arc::clone(old.properties()), cut: BatchCut::Whole, has_run: None }
    }

    /// Splits batches into pieces that the reader processes in some milliseconds.
    pub fn in_pieces(operator: Arc<dyn ExecutionPlan>) -> Self {
        PacedExec { properties: Arc::clone(operator.properties()), operator, cut: BatchCut::ByTime, has_run: None }
    }

    /// Splits batches into pieces as large as the reader's expressions allow.
    pub fn in_pieces_of(operator: Arc<dyn ExecutionPlan>, pieces: &Arc<AdaptiveBatch>) -> Self {
        PacedExec { properties: Arc::clone(operator.properties()), operator, cut: BatchCut::BySize(Arc::clone(pieces)), has_run: None }
    }

    /// Splits batches for a reader that makes a row of each element, into pieces of which it makes some megabytes.
    pub fn in_pieces_of_lists(operator: Arc<dyn ExecutionPlan>, elements: Elements) -> Self {
        PacedExec { properties: Arc::clone(operator.properties()), operator, cut: BatchCut::ByElements(Arc::new(elements)), has_run: None }
    }

    /// For the input of a join without equal keys. If memory runs out, DataFusion runs that input again and continues with parts of it on
    /// disk. Then rows of LEFT, ANTI and MARK joins are repeated or lost, and an operator below that repartitions rows panics
    /// (apache/datafusion #22641, #24676, #24745). So the second run ends with the error.
    pub fn run_once(operator: Arc<dyn ExecutionPlan>) -> Self {
        PacedExec { properties: Arc::clone(operator.properties()), operator, cut: BatchCut::Whole, has_run: Some(AtomicBool::new(false)) }
    }

    fn standing_for(&self, operator: Arc<dyn ExecutionPlan>, properties: Arc<PlanProperties>) -> Arc<dyn ExecutionPlan> {
        let has_run = self.has_run.as_ref().map(|_| AtomicBool::new(false));
        Arc::new(PacedExec { operator, properties, cut: self.cut.clone(), has_run })
    }
}

impl ExecutionPlan for PacedExec {
    fn name(&self) -> &str {
        self.operator.name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.operator.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.operator.maintains_input_order()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.operator.children()
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        self.operator.apply_expressions(f)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.operator.dynamic_expressions_produced()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let keeps = matches!(options.children_properties, ChildrenPropertiesMode::Keep);
        let operator = Arc::clone(&self.operator).replace_children(children, options)?;
        let properties = Arc::clone(if keeps { &self.properties } else { operator.properties() });
        Ok(self.standing_for(operator, properties))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    /// A recursive query runs its operators again, and some of them need more for that than a new object.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let operator = Arc::clone(&self.operator).reset_state()?;
        Ok(self.standing_for(operator, Arc::clone(&self.properties)))
    }

    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        let operator = self.operator.with_new_state(state)?;
        Some(self.standing_for(operator, Arc::clone(&self.properties)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if self.has_run.as_ref().is_some_and(|has_run| has_run.swap(true, Ordering::Relaxed)) {
            return resources_err!(
                "the memory limit leaves no room for one side of a join without equal columns, which is held as a whole"
            );
        }
        let input = self.operator.execute(partition, context)?;
        Ok(Box::pin(PacedStream::new(input, self.cut.clone())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.operator.metrics()
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.operator.child_stats_requests(partition)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.operator.statistics_from_inputs(inputs, args)
    }

    fn fetch(&self) -> Option<usize> {
        self.operator.fetch()
    }
}

impl DisplayAs for PacedExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operator.fmt_as(format, f)
    }
}

struct PacedStream {
    input: SendableRecordBatchStream,
    cut: BatchCut,
    /// The rows of a piece that is cut by time. A single row may already be much work: the other side of the join may have any number.
    piece_rows: usize,
    /// The remaining parts in reverse order.
    rest: Vec<RecordBatch>,
    /// When the reader received the last piece.
    handed_out: Option<Instant>,
    /// When the task last yielded, here or below.
    yielded: Instant,
}

impl PacedStream {
    fn new(input: SendableRecordBatchStream, cut: BatchCut) -> PacedStream {
        PacedStream { input, cut, piece_rows: 1, rest: Vec::new(), handed_out: None, yielded: Instant::now() }
    }

    /// The next piece of `batch`.
    fn cut(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = match &self.cut {
            BatchCut::Whole => return Ok(batch),
            BatchCut::ByElements(elements) => {
                let mut parts = elements.cut(&batch)?;
                parts.reverse();
                let piece = parts.pop();
                self.rest.append(&mut parts);
                return Ok(piece.unwrap_or(batch));
            }
            BatchCut::ByTime => self.rows_by_time(),
            BatchCut::BySize(pieces) => {
                let rows = pieces.next().min(batch.num_rows());
                pieces.hand_out(rows);
                rows
            }
        };
        if batch.num_rows() <= rows {
            return Ok(batch);
        }
        self.rest.push(batch.slice(rows, batch.num_rows() - rows));
        Ok(batch.slice(0, rows))
    }

    /// Adapts to the time that the reader took for the last piece.
    fn rows_by_time(&mut self) -> usize {
        match self.handed_out.take().map(|at| at.elapsed()) {
            Some(took) if took > YIELD_AFTER => self.piece_rows = (self.piece_rows / 2).max(1),
            Some(took) if took < PIECE_SHORT => self.piece_rows = (self.piece_rows * 2).min(PIECE_ROWS_MAX),
            _ => {}
        }
        self.handed_out = Some(Instant::now());
        self.piece_rows
    }
}

impl Stream for PacedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.yielded.elapsed() > YIELD_AFTER {
            self.yielded = Instant::now();
            return yield_now(context);
        }
        if let Some(rest) = self.rest.pop() {
            return Poll::Ready(Some(self.cut(rest)));
        }
        match self.input.poll_next_unpin(context) {
            Poll::Ready(Some(Ok(batch))) => Poll::Ready(Some(self.cut(with_few_buffers(batch)))),
            Poll::Pending => {
                self.yielded = Instant::now();
                Poll::Pending
            }
            end => end,
        }
    }
}

impl RecordBatchStream for PacedStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
