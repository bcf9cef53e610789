//! Finds conditions such as `rank <= k` above the window that computes the rank.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::projection::update_expr;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::exec::{RankLimit, RankLimitExec};
use super::keys::{has_keys, is_exact_type};
use crate::running_windows::{is_same_rank, kind_of};
use common::engine_settings::switches;

/// With a larger limit, most rows are kept anyway.
const ROWS_MAX: usize = 1_000;

/// Adds below the sort of a window, if only the first rows of each group are wanted, an operator that leaves out rows which cannot be among
/// them. Window and condition stay, so that results are the same.
#[derive(Debug, Default)]
pub struct RankLimits;

impl PhysicalOptimizerRule for RankLimits {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).rank_limits {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let mut bounds: Vec<(usize, usize)> = split_conjunction(filter.predicate()).into_iter().filter_map(upper_bound).collect();
            bounds.sort_by_key(|(_, k)| *k);
            for (column, k) in bounds {
                if let Some(LimitedPlan { plan: input, .. }) = limited(filter.input(), column, k)? {
                    return replace_children_if_necessary(node, vec![input]).map(Transformed::yes);
                }
            }
            Ok(Transformed::no(node))
        })
        .data()
    }

    fn name(&self) -> &str {
        "rank_limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The column of which a condition wants only values up to a number, and this number.
fn upper_bound(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let comparison = condition.downcast_ref::<BinaryExpr>()?;
    let (left, right) = (comparison.left(), comparison.right());
    let (column, literal, operator) = match (left.downcast_ref::<Column>(), right.downcast_ref::<Column>()) {
        (Some(column), None) => (column, right, *comparison.op()),
        (None, Some(column)) => (column, left, comparison.op().swap()?),
        _ => return None,
    };
    let number = integer(literal.downcast_ref::<Literal>()?.value())?;
    let most = match operator {
        Operator::Eq | Operator::LtEq => number,
        Operator::Lt => number.checked_sub(1)?,
        _ => return None,
    };
    usize::try_from(most).ok().filter(|most| (1..=ROWS_MAX).contains(most)).map(|most| (column.index(), most))
}

fn integer(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int8(value) => value.map(i64::from),
        ScalarValue::Int16(value) => value.map(i64::from),
        ScalarValue::Int32(value) => value.map(i64::from),
        ScalarValue::Int64(value) => *value,
        ScalarValue::UInt64(value) => value.and_then(|value| i64::try_from(value).ok()),
        _ => None,
    }
}

fn window_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&[Arc<dyn WindowExpr>]> {
    match (plan.downcast_ref::<BoundedWindowAggExec>(), plan.downcast_ref::<WindowAggExec>()) {
        (Some(window), _) => Some(window.window_expr()),
        (_, Some(window)) => Some(window.window_expr()),
        _ => None,
    }
}

/// A plan with the operator in it.
struct LimitedPlan {
    plan: Arc<dyn ExecutionPlan>,
    /// The function that computes the rank, in the columns of the plan. `None` above a projection.
    rank: Option<Arc<dyn WindowExpr>>,
}

/// `None` if the column is no rank, or if rows cannot be left out.
fn limited(plan: &Arc<dyn ExecutionPlan>, column: usize, k: usize) -> Result<Option<LimitedPlan>> {
    let Some(input) = only_child(plan) else { return Ok(None) };
    let below = if let Some(functions) = window_of(plan) {
        let found = match column.checked_sub(input.schema().fields().len()) {
            Some(at) => match functions.get(at) {
                Some(rank) => selected(input, rank, k)?.map(|plan| LimitedPlan { plan, rank: Some(Arc::clone(rank)) }),
                None => None,
            },
            None => limited(input, column, k)?,
        };
        // Other functions see all rows of their group.
        found.filter(|found| found.rank.as_ref().is_some_and(|rank| functions.iter().all(|function| is_same_rank(function, rank))))
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        match projection.expr().get(column).and_then(|projected| projected.expr.downcast_ref::<Column>()) {
            Some(column) => limited(input, column.index(), k)?.map(|found| LimitedPlan { rank: None, ..found }),
            None => None,
        }
    } else if keeps_all_rows(plan) {
        limited(input, column, k)?
    } else {
        None
    };
    let Some(LimitedPlan { plan: input, rank }) = below else { return Ok(None) };
    Ok(Some(LimitedPlan { plan: replace_children_if_necessary(Arc::clone(plan), vec![input])?, rank }))
}

fn only_child(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    match plan.children().as_slice() {
        [child] => Some(child),
        _ => None,
    }
}

/// Whether it only moves or sorts rows.
fn keeps_all_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let moves = plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>();
    (moves || plan.is::<SortExec>() || plan.is::<SortPreservingMergeExec>()) && plan.fetch().is_none()
}

/// The input of a window with the operator in it, below its sort. `None` if it sorts nothing, or if rows have no keys.
fn selected(input: &Arc<dyn ExecutionPlan>, rank: &Arc<dyn WindowExpr>, k: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (Some(kind), Some(order)) = (kind_of(rank), rank.order_by().first()) else { return Ok(None) };
    let schema = input.schema();
    let groups = rank.partition_by().to_vec();
    let order_type = order.expr.data_type(&schema)?;
    // One group is a LIMIT.
    if groups.is_empty() || groups.iter().any(|group| may_group_differently(group, &schema)) || !has_keys(&order_type) {
        return Ok(None);
    }
    if groups.iter().chain([&order.expr]).any(is_volatile) {
        return Ok(None);
    }
    let ties_are_equal = rank.order_by().len() == 1 && is_exact_type(&order_type);
    below_sort(input, RankLimit { kind, ties_are_equal, k, groups, order: order.clone() }, false)
}

/// Whether values of a key may be equal here and different in the window: floats have two zeros.
fn may_group_differently(key: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let Ok(data_type) = key.data_type(schema) else { return true };
    let values = match &data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    values.is_floating() || values.is_nested()
}

/// The plan with the operator as low as its columns are defined: the operators above it have less to do then. It stays above what drops
/// columns, and above what makes several partitions of one.
fn below_sort(plan: &Arc<dyn ExecutionPlan>, limit: RankLimit, is_below: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let below = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        match limit_of_input(&limit, projection)? {
            Some(limit) => below_sort(projection.input(), limit, is_below)?,
            None => None,
        }
    } else if keeps_all_rows(plan)
        && let Some(input) = only_child(plan)
        && input.output_partitioning().partition_count() >= plan.output_partitioning().partition_count()
    {
        below_sort(input, limit.clone(), is_below || plan.is::<SortExec>())?
    } else {
        None
    };
    match below {
        Some(below) => replace_children_if_necessary(Arc::clone(plan), vec![below]).map(Some),
        None => Ok(is_below.then(|| Arc::new(RankLimitExec::new(Arc::clone(plan), limit)) as Arc<dyn ExecutionPlan>)),
    }
}

fn limit_of_input(limit: &RankLimit, projection: &ProjectionExec) -> Result<Option<RankLimit>> {
    // It holds rows, so it should not get columns that nobody needs.
    if projection.input().schema().fields().len() > projection.expr().len() {
        return Ok(None);
    }
    let below = |expr: &Arc<dyn PhysicalExpr>| update_expr(expr, projection.expr(), true);
    let groups = limit.groups.iter().map(below).collect::<Result<Option<Vec<_>>>>()?;
    let Some((groups, expr)) = groups.zip(below(&limit.order.expr)?) else { return Ok(None) };
    if groups.iter().chain([&expr]).any(is_volatile) {
        return Ok(None);
    }
    Ok(Some(RankLimit { groups, order: PhysicalSortExpr::new(expr, limit.order.options), ..limit.clone() }))
}
