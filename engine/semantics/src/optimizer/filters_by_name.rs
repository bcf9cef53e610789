//! Filters that operators tell those below them, such as the keys of a join.
//!
//! Two of them lose rows. While DataFusion's rule works, a [`Barrier`] stands below the operator.
//!
//! - DataFusion hands such a filter from an operator to its input by the names of its columns, and takes the first column of a name. Where
//!   an input has a name twice, as joins of tables with columns of one name do, it filters another column. Such an input is told of no
//!   filter from above. What it finds out itself goes on to its own inputs.
//! - A join tells the least and the greatest of its keys, a sort with a limit its last row, `min` and `max` what they have. Lists, structs
//!   and maps have several orders there: that of the least and greatest takes no NULL inside, the comparison has it first, and the sort
//!   last; maps have none. Of intervals equal ones differ in their parts. Operators with keys of such types tell nothing.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

use super::aggregate_statistics::in_place_of_statistics;
use super::barrier::Barrier;
use super::filter_projections::in_place_of_projections;
use super::grouping_sets::GroupingSets;
use super::limits_below::LimitsBelow;
use super::outer_joins::OuterJoins;
use super::topk_keys::in_place_of_topk;

/// DataFusion's rules, with those that move filters between barriers.
pub fn physical_optimizer_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let theirs = [FilterPushdown::new(), FilterPushdown::new_post_optimization()];
    let with_ours = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
        match theirs.iter().any(|theirs| theirs.name() == rule.name()) {
            true => Arc::new(FiltersByName(rule)),
            false => rule,
        }
    };
    let barriers: [Arc<dyn PhysicalOptimizerRule + Send + Sync>; 3] = [Arc::new(GroupingSets), Arc::new(OuterJoins), Arc::new(LimitsBelow)];
    let rules = PhysicalOptimizer::new()
        .rules
        .into_iter()
        .map(with_ours)
        .map(in_place_of_topk)
        .map(in_place_of_statistics)
        .map(in_place_of_projections);
    // Joins that were turned around know of more constants, and the rule that leaves out sorts believes them.
    let sorts = EnsureRequirements::new();
    let again = |rule: &Arc<dyn PhysicalOptimizerRule + Send + Sync>| -> Option<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        (rule.name() == sorts.name()).then(|| Arc::new(OuterJoins) as _)
    };
    barriers.into_iter().chain(rules.flat_map(|rule| [again(&rule), Some(rule)]).flatten()).collect()
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
        let is_guarded: Vec<bool> =
            children.iter().enumerate().map(|(at, child)| is_misled(child) || has_ambiguous_names(&node, at)).collect();
        if !is_guarded.contains(&true) {
            return Ok(Transformed::no(node));
        }
        let guarded = children.into_iter().zip(is_guarded).map(|(child, is_guarded)| -> Arc<dyn ExecutionPlan> {
            if is_guarded { Arc::new(Barrier::to_filters(Arc::clone(child))) } else { Arc::clone(child) }
        });
        let guarded = guarded.collect();
        Ok(Transformed::yes(node.replace_children(guarded, SAME_PROPERTIES)?))
    })
}

/// Whether what an operator tells the input that it has in this place is of values without one order.
fn has_ambiguous_names(node: &Arc<dyn ExecutionPlan>, input: usize) -> bool {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let probe = join.right().schema();
        return input == 1 && join.on().iter().any(|(_, key)| has_no_order(key, &probe));
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return sort.fetch().is_some() && sort.expr().iter().any(|key| has_no_order(&key.expr, &sort.input().schema()));
    }
    node.downcast_ref::<AggregateExec>().is_some_and(|aggregate| {
        let arguments = aggregate.aggr_expr().iter().flat_map(|function| function.expressions());
        aggregate.group_expr().is_empty() && arguments.into_iter().any(|key| has_no_order(&key, &aggregate.input().schema()))
    })
}

/// Whether `<` has another order than ORDER BY.
pub(super) fn has_no_order(key: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    key.data_type(schema).is_ok_and(|data_type| has_several_orders(&data_type))
}

fn has_several_orders(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_several_orders(values),
        data_type => data_type.is_nested() || matches!(data_type, DataType::Interval(_)),
    }
}

fn without_barriers(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| match node.downcast_ref::<Barrier>() {
        Some(barrier) if barrier.is_to_filters() => Ok(Transformed::yes(Arc::clone(barrier.input()))),
        _ => Ok(Transformed::no(node)),
    })
    .data()
}

/// Whoever is above a barrier keeps its own properties, and with them the filters it has made.
const SAME_PROPERTIES: ReplaceChildrenOptions = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// Whether a filter from above may come to mean another column in an operator: it has a name twice, or takes what its only input
/// refuses upon itself and finds the columns in that input.
fn is_misled(node: &Arc<dyn ExecutionPlan>) -> bool {
    match node.children().as_slice() {
        // Tables have no name twice.
        [] => false,
        [input] => has_a_name_twice(node) || (!input.children().is_empty() && has_a_name_twice(with_barrier(input))),
        _ => has_a_name_twice(node),
    }
}

/// What is below a barrier, which is there before the operators above are looked at.
fn with_barrier(node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    node.downcast_ref::<Barrier>().map_or(node, Barrier::input)
}

fn has_a_name_twice(node: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = node.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    schema.fields().iter().any(|field| !names.insert(field.name()))
}
