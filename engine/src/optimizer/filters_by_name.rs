//! Filters that operators tell those below them, such as the keys of a join.
//!
//! DataFusion hands such a filter from an operator to its input by the names of its columns, and takes the first column of a name. Where
//! an input has a name twice, as joins of tables with columns of one name do, it filters another column, and rows are lost. Such an
//! input is told of no filter from above: while DataFusion's rule works, a [`Barrier`] stands above it. What it finds out itself goes on
//! to its own inputs.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};

/// DataFusion's rules, with those that move filters between barriers.
pub fn physical_optimizer_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let theirs = [FilterPushdown::new(), FilterPushdown::new_post_optimization()];
    let with_ours = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
        match theirs.iter().any(|theirs| theirs.name() == rule.name()) {
            true => Arc::new(FiltersByName(rule)),
            false => rule,
        }
    };
    PhysicalOptimizer::new().rules.into_iter().map(with_ours).collect()
}

#[derive(Debug)]
struct FiltersByName(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for FiltersByName {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let guarded = with_barriers(plan)?;
        let plan = self.0.optimize(guarded.data, config)?;
        if guarded.transformed { without_barriers(plan) } else { Ok(plan) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn with_barriers(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    plan.transform_up(|node| {
        let children = node.children();
        if !children.iter().any(|child| is_misled(child)) {
            return Ok(Transformed::no(node));
        }
        let guarded = children.into_iter().map(|child| match is_misled(child) {
            true => Arc::new(Barrier { input: Arc::clone(child) }),
            false => Arc::clone(child),
        });
        let guarded = guarded.collect();
        Ok(Transformed::yes(node.replace_children(guarded, SAME_PROPERTIES)?))
    })
}

fn without_barriers(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| match node.downcast_ref::<Barrier>() {
        Some(barrier) => Ok(Transformed::yes(Arc::clone(&barrier.input))),
        None => Ok(Transformed::no(node)),
    })
    .data()
}

/// A barrier has the properties of what is below it, so that whoever is above keeps its own, and with them the filters it has made.
const SAME_PROPERTIES: ReplaceChildrenOptions = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// Whether a filter from above may come to mean another column in an operator: it has a name twice, or takes what its only input
/// refuses upon itself and finds the columns in that input.
fn is_misled(node: &Arc<dyn ExecutionPlan>) -> bool {
    match node.children().as_slice() {
        // Tables have no name twice.
        [] => false,
        [input] => has_a_name_twice(node) || (!input.children().is_empty() && has_a_name_twice(barred(input))),
        _ => has_a_name_twice(node),
    }
}

/// What is below a barrier, which is there before the operators above are looked at.
fn barred(node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    node.downcast_ref::<Barrier>().map_or(node, |barrier| &barrier.input)
}

fn has_a_name_twice(node: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = node.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    schema.fields().iter().any(|field| !names.insert(field.name()))
}

/// Refuses the filters of those above it and is otherwise its input. No plan that runs has one.
#[derive(Debug)]
struct Barrier {
    input: Arc<dyn ExecutionPlan>,
}

/// That it hands no filter on is what every operator does that does not say otherwise.
impl ExecutionPlan for Barrier {
    fn name(&self) -> &str {
        "Barrier"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Barrier { input })),
            _ => internal_err!("Barrier has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, SAME_PROPERTIES)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    /// Operators above may be made anew, with what is known of their input.
    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("Barrier has one child"),
        }
    }
}

impl DisplayAs for Barrier {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Barrier")
    }
}
