//! Dynamic filters that operators pass down, such as the keys of a join.
//!
//! Some kinds lose rows. While DataFusion's rule works, a [`Barrier`] is below the operators concerned.
//!
//! - DataFusion passes such a filter from an operator to its input by column names, and takes the first column of a name. If an input has
//!   a name twice, as after a join of tables with equal column names, it filters the wrong column. Such an input gets no filter from
//!   above. Filters that it makes itself still go to its own inputs.
//! - A semi join passes a filter on its keys to both inputs, by the name that the key has in the result. If the other input has another
//!   column of that name, that one is filtered: a filter on `l.a` with `EXISTS (SELECT 1 FROM r WHERE r.x = l.a AND r.a = l.b)`. It can
//!   also have another type. Such a join gets no filter from above.
//! - The filter of `min` and `max` is made of those whose argument is a column, and that have a value already. The rows that it removes may
//!   have the greatest value of another argument, as in `min(id), max(upper(s))`, or the first that is not NULL, as in `min(id), max(n)`
//!   (`init_dynamic_filter` and `build_dynamic_filter_from_accumulator_bounds()` of datafusion-physical-plan). Such an aggregate passes on
//!   nothing.
//! - A join passes on the minimum and maximum of its keys, a sort with a limit its last row, `min` and `max` their current value. Lists,
//!   structs and maps have several orders there: that of minimum and maximum ignores NULL inside, the comparison puts it first, and the
//!   sort last; maps have none. Equal intervals differ in their parts. Operators with keys of such types pass on nothing.
//! - Floats have two zeros, which are equal in a join and different in its filter. Scans leave out such a filter. A sort keeps it above
//!   itself in a filter of its own, which is removed.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

use super::aggregate_statistics::in_place_of_statistics;
use super::barrier::Barrier;
use super::filter_projections::in_place_of_projections;
use super::grouping_sets::GroupingSets;
use super::limits_below::LimitsBelow;
use super::outer_joins::OuterJoins;
use super::required_orders::{RequiredOrders, in_place_of_check};
use super::topk_keys::in_place_of_topk;

/// DataFusion's rules; those that move filters run between barriers.
pub fn physical_optimizer_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let (static_filters, dynamic_filters) = (FilterPushdown::new(), FilterPushdown::new_post_optimization());
    let with_ours = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
        match [static_filters.name(), dynamic_filters.name()].contains(&rule.name()) {
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
        .map(in_place_of_projections)
        .map(in_place_of_check);
    let before = |rule: &Arc<dyn PhysicalOptimizerRule + Send + Sync>| -> Option<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        match rule.name() {
            // Reordered joins know more constants, and the rule that removes sorts relies on them.
            name if name == EnsureRequirements::new().name() => Some(Arc::new(OuterJoins)),
            // Sorts are added before operators have dynamic filters: a copy of an operator would have others than its scan.
            name if name == dynamic_filters.name() => Some(Arc::new(RequiredOrders)),
            _ => None,
        }
    };
    barriers.into_iter().chain(rules.flat_map(|rule| [before(&rule), Some(rule)]).flatten()).collect()
}

#[derive(Debug)]
struct FiltersByName(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for FiltersByName {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let guarded = with_barriers(plan)?;
        let plan = without_float_filters(self.0.optimize(guarded.data, config)?)?;
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
        let is_guarded: Vec<bool> = children.iter().enumerate().map(|(at, child)| is_misled(child) || loses_rows(&node, at)).collect();
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

/// Whether the filter that an operator makes for this input may remove rows that it needs.
fn loses_rows(node: &Arc<dyn ExecutionPlan>, input: usize) -> bool {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let probe = join.right().schema();
        return input == 1 && join.on().iter().any(|(_, key)| has_no_order(key, &probe));
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return sort.fetch().is_some() && sort.expr().iter().any(|key| has_no_order(&key.expr, &sort.input().schema()));
    }
    node.downcast_ref::<AggregateExec>().is_some_and(misses_values)
}

/// Whether the filter of `min` and `max` may remove rows that one of them needs. Several that have columns begin to have values at different
/// times: also two of one column, because `min` has none until each partition has one.
fn misses_values(aggregate: &AggregateExec) -> bool {
    let schema = aggregate.input().schema();
    let is_left_out = |argument: &Arc<dyn PhysicalExpr>| !argument.is::<Column>() || has_no_order(argument, &schema);
    let functions = aggregate.aggr_expr();
    aggregate.group_expr().is_empty()
        && (functions.len() > 1 || functions.iter().any(|function| function.expressions().iter().any(is_left_out)))
}

/// Whether `<` and ORDER BY use different orders.
pub(super) fn has_no_order(key: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    key.data_type(schema).is_ok_and(|data_type| has_several_orders(&data_type))
}

fn has_several_orders(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_several_orders(values),
        data_type => data_type.is_nested() || matches!(data_type, DataType::Interval(_)),
    }
}

/// Removes dynamic filters that compare floats from operators that filter.
fn without_float_filters(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|node| {
        let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
        let schema = filter.input().schema();
        let compares_floats = |expr: &Arc<dyn PhysicalExpr>| {
            let is_float = |part: &&Arc<dyn PhysicalExpr>| part.data_type(&schema).is_ok_and(|data_type| data_type.is_floating());
            expr.is::<DynamicFilterPhysicalExpr>() && expr.children().iter().any(is_float)
        };
        let (removed, rest): (Vec<_>, Vec<_>) = split_conjunction(filter.predicate()).into_iter().partition(|expr| compares_floats(expr));
        if removed.is_empty() {
            return Ok(Transformed::no(node));
        }
        if rest.is_empty() && filter.projection().is_none() && filter.fetch().is_none() {
            return Ok(Transformed::yes(Arc::clone(filter.input())));
        }
        let rest = conjunction(rest.into_iter().cloned());
        Ok(Transformed::yes(Arc::new(FilterExecBuilder::from(filter).with_predicate(rest).build()?)))
    })
    .data()
}

fn without_barriers(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| match node.downcast_ref::<Barrier>() {
        Some(barrier) if barrier.is_to_filters() => Ok(Transformed::yes(Arc::clone(barrier.input()))),
        _ => Ok(Transformed::no(node)),
    })
    .data()
}

/// Operators above a barrier keep their properties, and with them the dynamic filters they have made.
const SAME_PROPERTIES: ReplaceChildrenOptions = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// Whether a filter from above may come to mean another column in an operator. That is so if the operator has a name twice, or if it
/// evaluates itself what its only input rejects and looks up the columns in that input.
fn is_misled(node: &Arc<dyn ExecutionPlan>) -> bool {
    match node.children().as_slice() {
        // Tables have unique column names.
        [] => false,
        [input] => has_a_name_twice(node) || (!input.children().is_empty() && has_a_name_twice(with_barrier(input))),
        _ => has_a_name_twice(node) || has_name_of_other_key(node),
    }
}

/// Whether it is a semi join whose other input has a column with the name of a key that is not the column equal to it.
fn has_name_of_other_key(node: &Arc<dyn ExecutionPlan>) -> bool {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else { return false };
    let is_left = *join.join_type() == JoinType::LeftSemi;
    let other = match join.join_type() {
        JoinType::LeftSemi => join.right().schema(),
        JoinType::RightSemi => join.left().schema(),
        _ => return false,
    };
    join.on().iter().any(|(left, right)| {
        let (key, equal) = if is_left { (left, right) } else { (right, left) };
        key.downcast_ref::<Column>().is_some_and(|key| {
            let is_same = equal.downcast_ref::<Column>().is_some_and(|equal| equal.name() == key.name());
            !is_same && other.column_with_name(key.name()).is_some()
        })
    })
}

/// The input below the barrier; barriers are added before the operators above are visited.
fn with_barrier(node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    node.downcast_ref::<Barrier>().map_or(node, Barrier::input)
}

fn has_a_name_twice(node: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = node.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    schema.fields().iter().any(|field| !names.insert(field.name()))
}
