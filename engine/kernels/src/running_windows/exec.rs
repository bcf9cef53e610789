//! The operator, which stands for a window with these functions.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
    ReplaceChildrenOptions, StatisticsArgs,
};

use super::function::{FrameEnd, RunningFunction};
use super::stream::RunningStream;

/// The functions of a window, and its keys.
#[derive(Debug)]
pub struct RunningWindow {
    pub functions: Vec<RunningFunction>,
    /// Where the frames end which do not end at their row: they all end there.
    pub end: FrameEnd,
    pub groups: Vec<Arc<dyn PhysicalExpr>>,
    pub order: Vec<Arc<dyn PhysicalExpr>>,
}

#[derive(Debug)]
pub struct RunningWindowExec {
    /// The operator of DataFusion for the same window: it knows the properties of the result.
    window: Arc<dyn ExecutionPlan>,
    running: Arc<RunningWindow>,
    metrics: ExecutionPlanMetricsSet,
}

impl RunningWindowExec {
    pub fn in_place_of(window: Arc<dyn ExecutionPlan>, running: Arc<RunningWindow>) -> RunningWindowExec {
        RunningWindowExec { window, running, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for RunningWindowExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |exprs: &[Arc<dyn PhysicalExpr>]| exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let RunningWindow { functions, groups, order, .. } = self.running.as_ref();
        let names = functions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "RunningWindowExec: {names}, groups=[{}], order=[{}]", listed(groups), listed(order))
            }
            DisplayFormatType::TreeRender => writeln!(f, "{names}"),
        }
    }
}

impl ExecutionPlan for RunningWindowExec {
    fn name(&self) -> &str {
        "RunningWindowExec"
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
        let arguments = self.running.functions.iter().filter_map(|function| match function {
            RunningFunction::Rank(_) => None,
            RunningFunction::Aggregate(aggregate) => Some(&aggregate.argument),
        });
        for expr in arguments.chain(&self.running.groups).chain(&self.running.order) {
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
        Ok(Arc::new(RunningWindowExec::in_place_of(window, Arc::clone(&self.running))))
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
        let [input] = children.as_slice() else { return internal_err!("RunningWindowExec has one input") };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let stream = RunningStream::new(
            input.execute(partition, Arc::clone(&context))?,
            self.schema(),
            Arc::clone(&self.running),
            &context,
            metrics,
        )?;
        Ok(Box::pin(stream))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
