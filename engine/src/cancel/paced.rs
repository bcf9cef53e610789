//! Batches that come with pauses: after some milliseconds without one, the task yields.
//!
//! Tokio's own budget counts batches, and one batch may be work for minutes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::{Stream, StreamExt};

const YIELD_AFTER: Duration = Duration::from_millis(10);
/// A piece that takes less than this is doubled, one that takes more than `YIELD_AFTER` is halved.
const PIECE_SHORT: Duration = Duration::from_millis(3);
const PIECE_ROWS_MAX: usize = 1 << 20;

#[derive(Debug)]
pub struct PacedExec {
    input: Arc<dyn ExecutionPlan>,
    in_pieces: bool,
}

impl PacedExec {
    /// Batches as they are.
    pub fn whole(input: Arc<dyn ExecutionPlan>) -> Self {
        PacedExec { input, in_pieces: false }
    }

    /// Batches in pieces that the reader needs some milliseconds for.
    pub fn in_pieces(input: Arc<dyn ExecutionPlan>) -> Self {
        PacedExec { input, in_pieces: true }
    }
}

impl ExecutionPlan for PacedExec {
    fn name(&self) -> &str {
        "PacedExec"
    }

    /// The input's own: that they are the same object tells the operators above that nothing has
    /// changed, and they keep the dynamic filters they share with scans.
    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.pop()) {
            (Some(input), None) => Ok(Arc::new(PacedExec { input, in_pieces: self.in_pieces })),
            _ => internal_err!("PacedExec has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        Ok(Box::pin(Paced::new(input, self.in_pieces)))
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("PacedExec has one child"),
        }
    }
}

impl DisplayAs for PacedExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PacedExec")
    }
}

struct Paced {
    input: SendableRecordBatchStream,
    /// Rows of a piece; None: batches as they are.
    piece_rows: Option<usize>,
    rest: Option<RecordBatch>,
    /// When the reader got the last piece.
    handed_out: Option<Instant>,
    yielded: Instant,
}

impl Paced {
    fn new(input: SendableRecordBatchStream, in_pieces: bool) -> Paced {
        // One row may already be much work: nobody knows how many rows the other side has.
        let piece_rows = in_pieces.then_some(1);
        Paced { input, piece_rows, rest: None, handed_out: None, yielded: Instant::now() }
    }

    /// The next piece of `batch`, and by how long the reader took for the last one, its size.
    fn cut(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(rows) = &mut self.piece_rows else { return batch };
        match self.handed_out.take().map(|at| at.elapsed()) {
            Some(took) if took > YIELD_AFTER => *rows = (*rows / 2).max(1),
            Some(took) if took < PIECE_SHORT => *rows = (*rows * 2).min(PIECE_ROWS_MAX),
            _ => {}
        }
        self.handed_out = Some(Instant::now());
        if batch.num_rows() <= *rows {
            return batch;
        }
        self.rest = Some(batch.slice(*rows, batch.num_rows() - *rows));
        batch.slice(0, *rows)
    }
}

impl Stream for Paced {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.yielded.elapsed() > YIELD_AFTER {
            self.yielded = Instant::now();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => batch,
                end => return Poll::Ready(end),
            },
        };
        Poll::Ready(Some(Ok(self.cut(batch))))
    }
}

impl RecordBatchStream for Paced {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
