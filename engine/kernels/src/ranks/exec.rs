//! The operator, which stands for a window of ranks.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
    ReplaceChildrenOptions, StatisticsArgs,
};
use futures::{Stream, StreamExt};

use super::counter::RankCounter;
use super::kind::RankKind;

/// The functions of a window, and its keys.
#[derive(Debug, Clone)]
pub struct Ranks {
    pub kinds: Vec<RankKind>,
    pub groups: Vec<Arc<dyn PhysicalExpr>>,
    pub order: Vec<Arc<dyn PhysicalExpr>>,
}

#[derive(Debug)]
pub struct RankExec {
    /// The operator of DataFusion for the same window: it knows the properties of the result.
    window: Arc<dyn ExecutionPlan>,
    ranks: Ranks,
    metrics: ExecutionPlanMetricsSet,
}

impl RankExec {
    pub fn in_place_of(window: Arc<dyn ExecutionPlan>, ranks: Ranks) -> RankExec {
        RankExec { window, ranks, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for RankExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |exprs: &[Arc<dyn PhysicalExpr>]| exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let Ranks { kinds, groups, order } = &self.ranks;
        let names = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "RankExec: {names}, groups=[{}], order=[{}]", listed(groups), listed(order))
            }
            DisplayFormatType::TreeRender => writeln!(f, "{names}"),
        }
    }
}

impl ExecutionPlan for RankExec {
    fn name(&self) -> &str {
        "RankExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.window.input_distribution_requirements()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.window.required_input_ordering()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.window.maintains_input_order()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.window.children()
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        for expr in self.ranks.groups.iter().chain(&self.ranks.order) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let window = Arc::clone(&self.window).replace_children(children, options)?;
        Ok(Arc::new(RankExec::in_place_of(window, self.ranks.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.window.child_stats_requests(partition)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.window.statistics_from_inputs(inputs, args)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let children = self.children();
        let [input] = children.as_slice() else { return internal_err!("RankExec has one input") };
        Ok(Box::pin(RankStream {
            input: input.execute(partition, context)?,
            schema: self.schema(),
            ranks: self.ranks.clone(),
            counter: RankCounter::default(),
            metrics: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

struct RankStream {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    ranks: Ranks,
    counter: RankCounter,
    metrics: BaselineMetrics,
}

impl RankStream {
    fn ranked(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let elapsed = self.metrics.elapsed_compute().clone();
        let _timer = elapsed.timer();
        let rows = batch.num_rows();
        let values = |exprs: &[Arc<dyn PhysicalExpr>]| -> Result<Vec<ArrayRef>> {
            exprs.iter().map(|expr| expr.evaluate(batch)?.into_array(rows)).collect()
        };
        let (groups, order) = (values(&self.ranks.groups)?, values(&self.ranks.order)?);
        let ranks = self.counter.count(&self.ranks.kinds, &groups, &order, rows)?;
        let columns = batch.columns().iter().cloned().chain(ranks).collect();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

impl Stream for RankStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let ranked = loop {
            match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(batch) => break Some(batch.and_then(|batch| self.ranked(&batch))),
                None => break None,
            }
        };
        self.metrics.record_poll(Poll::Ready(ranked))
    }
}

impl RecordBatchStream for RankStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
