//! Which column of an input an operator's output column is.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use super::key_sets::KeySetExec;
use crate::optimizer::barrier::Barrier;

/// For each column of an operator, the column of one of its inputs that has the same values. Rows of the input with other values there have
/// no influence on the rows of the output with these ones. Operators that are not known have none.
pub fn input_columns(node: &Arc<dyn ExecutionPlan>, input: usize) -> Vec<Option<usize>> {
    // The first rows of all are others than the first that pass.
    if node.fetch().is_some() {
        return Vec::new();
    }
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        return projection.expr().iter().map(|output| position(&output.expr)).collect();
    }
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        return projected(all_columns(filter.input()), filter.projection().as_deref());
    }
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return projected(join_columns(node, *join.join_type(), join.on(), input), join.projection.as_deref());
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        return projected(join_columns(node, *join.join_type(), &[], input), join.projection().as_deref());
    }
    if node.is::<CrossJoinExec>() {
        return join_columns(node, JoinType::Inner, &[], input);
    }
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let keys = aggregate.group_expr();
        let has_groups = keys.is_single() && !keys.is_empty() && aggregate.limit_options().is_none();
        return if has_groups { keys.expr().iter().map(|(key, _)| position(key)).collect() } else { Vec::new() };
    }
    if let Some(window) = node.downcast_ref::<WindowAggExec>() {
        return partition_columns(window.input(), &window.partition_keys());
    }
    if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        return partition_columns(window.input(), &window.partition_keys());
    }
    let has_columns_of_input = node.is::<RepartitionExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<SortExec>()
        || node.is::<SortPreservingMergeExec>()
        || node.is::<UnionExec>()
        || node.is::<InterleaveExec>()
        || node.is::<CooperativeExec>()
        || node.is::<KeySetExec>()
        || node.is::<Barrier>();
    if has_columns_of_input { all_columns(node) } else { Vec::new() }
}

fn position(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

fn all_columns(node: &Arc<dyn ExecutionPlan>) -> Vec<Option<usize>> {
    (0..node.schema().fields().len()).map(Some).collect()
}

fn projected(columns: Vec<Option<usize>>, projection: Option<&[usize]>) -> Vec<Option<usize>> {
    match projection {
        Some(projection) => projection.iter().map(|column| columns.get(*column).copied().flatten()).collect(),
        None => columns,
    }
}

/// Rows of other partitions have no influence on a row.
fn partition_columns(input: &Arc<dyn ExecutionPlan>, keys: &[Arc<dyn PhysicalExpr>]) -> Vec<Option<usize>> {
    let is_key = |column: &usize| keys.iter().any(|key| position(key) == Some(*column));
    (0..input.schema().fields().len()).map(|column| Some(column).filter(is_key)).collect()
}

/// The columns of a join without its projection. A key of one side is also the equal key of the other side.
fn join_columns(
    node: &Arc<dyn ExecutionPlan>,
    join_type: JoinType,
    on: &[(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)],
    input: usize,
) -> Vec<Option<usize>> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let [left, right] = node.children()[..] else { return Vec::new() };
    let (left, right) = (left.schema(), right.schema());
    let equal_key = |column: usize, of_left: bool| {
        on.iter().find_map(|(left_key, right_key)| {
            let (from, to) = if of_left { (left_key, right_key) } else { (right_key, left_key) };
            let is_same_type = left_key.data_type(&left).ok()? == right_key.data_type(&right).ok()?;
            position(to).filter(|_| is_same_type && position(from) == Some(column))
        })
    };
    // Whether rows of this input that do not pass make no row that passes, and rows of the other input no other one without them.
    let (is_own_side, is_key_side) = match (input, join_type) {
        (_, Inner) | (0, LeftSemi) | (1, RightSemi) => (true, true),
        (0, Left | LeftAnti | LeftMark) | (1, Right | RightAnti | RightMark) => (true, false),
        (1, Left | LeftSemi) | (0, Right | RightSemi) => (false, true),
        _ => (false, false),
    };
    let columns_of = |of_left: bool| {
        let columns = if of_left { left.fields().len() } else { right.fields().len() };
        let is_own = of_left == (input == 0);
        (0..columns).map(move |column| (column, is_own, of_left))
    };
    let outputs: Vec<(usize, bool, bool)> = match join_type {
        Inner | Left | Right | Full => columns_of(true).chain(columns_of(false)).collect(),
        LeftSemi | LeftAnti | LeftMark => columns_of(true).collect(),
        RightSemi | RightAnti | RightMark => columns_of(false).collect(),
    };
    let outputs = outputs.into_iter();
    outputs
        .map(|(column, is_own, of_left)| {
            if is_own {
                is_own_side.then_some(column)
            } else if is_key_side {
                equal_key(column, of_left)
            } else {
                None
            }
        })
        .collect()
}

/// A filter over an operator's output as one over an input, of which `columns` has the position of each column of the output. `None` if it
/// lacks a column.
pub fn over_input(filter: &Arc<dyn PhysicalExpr>, columns: &[Option<usize>]) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut is_whole = true;
    let moved = Arc::clone(filter).transform_up(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let Some(position) = columns.get(column.index()).copied().flatten() else {
            is_whole = false;
            return Ok(Transformed::no(expr));
        };
        Ok(Transformed::yes(Arc::new(Column::new(column.name(), position)) as Arc<dyn PhysicalExpr>))
    })?;
    Ok(is_whole.then_some(moved.data))
}
