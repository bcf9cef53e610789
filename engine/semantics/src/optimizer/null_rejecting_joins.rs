//! An outer join is an inner join where a join above it drops the rows that it fills with NULLs.
//!
//! `sales LEFT JOIN returns ON … JOIN reasons ON r_reason = reason`: a key that is NULL equals nothing, so only rows with a return are left.
//! DataFusion sees this for a filter that stands above the outer join (eliminate_outer_join.rs in datafusion-optimizer 55.2), not for the keys
//! of a join. Such keys are followed down to the outer joins here, as columns whose NULLs no row of the result has.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, NullEquality, Result};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};
use datafusion::optimizer::eliminate_outer_join::{EliminateOuterJoin, eliminate_outer};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Our rule, if this is DataFusion's that makes outer joins simpler.
pub fn in_place_of_outer_joins(rule: Rule) -> Rule {
    around(rule, &[&EliminateOuterJoin::new()], with_inner_joins)
}

fn with_inner_joins(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Join(join) => match simpler_join(&join, &[]) {
            Some(simpler) => Ok(Transformed::yes(LogicalPlan::Join(simpler))),
            None => Ok(Transformed::no(LogicalPlan::Join(join))),
        },
        plan => theirs.rewrite(plan, config),
    }
}

/// The plan with simpler joins. An operator above drops each row that has NULL in one of `columns` (positions), so joins need not make them.
/// `None` if nothing changes.
fn without_filled_rows(plan: &LogicalPlan, columns: &[usize]) -> Option<LogicalPlan> {
    if columns.is_empty() {
        return None;
    }
    let (input, columns): (_, Vec<usize>) = match plan {
        LogicalPlan::Projection(projection) => {
            let exprs = columns.iter().map(|column| &projection.expr[*column]);
            (&projection.input, exprs.filter_map(|expr| position(expr, projection.input.schema())).collect())
        }
        // A set of groups has NULL where a key is not in the set.
        LogicalPlan::Aggregate(aggregate) if !aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_))) => {
            let keys = columns.iter().filter_map(|column| aggregate.group_expr.get(*column));
            (&aggregate.input, keys.filter_map(|key| position(key, aggregate.input.schema())).collect())
        }
        LogicalPlan::SubqueryAlias(alias) => (&alias.input, columns.to_vec()),
        LogicalPlan::Filter(filter) => (&filter.input, columns.to_vec()),
        LogicalPlan::Join(join) => return simpler_join(join, columns).map(LogicalPlan::Join),
        _ => return None,
    };
    let simpler = Arc::new(without_filled_rows(input, &columns)?);
    let mut plan = plan.clone();
    match &mut plan {
        LogicalPlan::Projection(projection) => projection.input = simpler,
        LogicalPlan::Aggregate(aggregate) => aggregate.input = simpler,
        LogicalPlan::SubqueryAlias(alias) => alias.input = simpler,
        LogicalPlan::Filter(filter) => filter.input = simpler,
        _ => return None,
    }
    Some(plan)
}

fn simpler_join(join: &Join, columns: &[usize]) -> Option<Join> {
    let left_width = join.left.schema().fields().len();
    let (mut left, mut right) = match join.join_type {
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
            let (left, right): (Vec<usize>, Vec<usize>) = columns.iter().partition(|column| **column < left_width);
            (left, right.into_iter().map(|column| column - left_width).collect())
        }
        JoinType::LeftSemi | JoinType::LeftAnti => (columns.to_vec(), Vec::new()),
        JoinType::RightSemi | JoinType::RightAnti => (Vec::new(), columns.to_vec()),
        JoinType::LeftMark | JoinType::RightMark => return None,
    };
    let join_type = eliminate_outer(join.join_type, !left.is_empty(), !right.is_empty());
    // A row whose key is NULL meets no other. It is dropped, unless the join keeps all rows of its side.
    if join.null_equality == NullEquality::NullEqualsNothing && !join.null_aware {
        let keeps_left = matches!(join_type, JoinType::Left | JoinType::Full | JoinType::LeftAnti);
        let keeps_right = matches!(join_type, JoinType::Right | JoinType::Full | JoinType::RightAnti);
        for (left_key, right_key) in &join.on {
            left.extend(position(left_key, join.left.schema()).filter(|_| !keeps_left));
            right.extend(position(right_key, join.right.schema()).filter(|_| !keeps_right));
        }
    }
    let (left, right) = (without_filled_rows(&join.left, &left), without_filled_rows(&join.right, &right));
    if join_type == join.join_type && left.is_none() && right.is_none() {
        return None;
    }
    let mut simpler = Join { join_type, ..join.clone() };
    simpler.left = left.map_or(simpler.left, Arc::new);
    simpler.right = right.map_or(simpler.right, Arc::new);
    Some(simpler)
}

/// The position of the column that, where it is NULL, makes the expression NULL.
fn position(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    match expr {
        Expr::Column(Column { relation, name, .. }) => schema.index_of_column_by_name(relation.as_ref(), name),
        Expr::Alias(alias) => position(&alias.expr, schema),
        Expr::Cast(cast) => position(&cast.expr, schema),
        Expr::TryCast(cast) => position(&cast.expr, schema),
        _ => None,
    }
}
