//! Which share of a subplan's rows the keys of joins above it leave.
//!
//! While a plan runs, the keys of one side of a join are a filter of the other side (`dynamic_filters/`). A subplan that runs once gets none:
//! its rows are for several joins. Where the weeks of one year are joined with the sums of all weeks, and the weeks of another year with the
//! same sums, running both apart is less work.

use std::collections::HashMap;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::logical_plan::{Join, Projection, SubqueryAlias};
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};

use super::scan_share::scan_share;

/// Columns with few of their values, and the share of these.
type Shares = HashMap<Column, f64>;

/// The shares of the nodes, in the order of [`LogicalPlan::apply_with_subqueries`].
pub fn key_shares(plan: &LogicalPlan) -> Result<Vec<f64>> {
    let mut shares = Vec::new();
    add(plan, Shares::new(), &mut shares)?;
    Ok(shares)
}

fn add(plan: &LogicalPlan, of_columns: Shares, shares: &mut Vec<f64>) -> Result<()> {
    shares.push(of_columns.values().copied().fold(1.0, f64::min));
    plan.apply_subqueries(|subquery| add(subquery, Shares::new(), shares).map(|()| TreeNodeRecursion::Continue))?;
    if let LogicalPlan::Join(join) = plan {
        let (left, right) = of_sides(join, of_columns);
        add(&join.left, left, shares)?;
        return add(&join.right, right, shares);
    }
    let inputs = plan.inputs();
    let Some((first, others)) = inputs.split_first() else { return Ok(()) };
    add(first, below(plan, of_columns), shares)?;
    others.iter().try_for_each(|input| add(input, Shares::new(), shares))
}

/// The shares of columns of an operator's first input.
fn below(plan: &LogicalPlan, of_columns: Shares) -> Shares {
    match plan {
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Distinct(Distinct::All(_)) => of_columns,
        LogicalPlan::Projection(projection) => {
            of_columns.into_iter().filter_map(|(column, share)| Some((projected(projection, &column)?, share))).collect()
        }
        LogicalPlan::SubqueryAlias(alias) => {
            of_columns.into_iter().filter_map(|(column, share)| Some((aliased(alias, &column)?, share))).collect()
        }
        LogicalPlan::Aggregate(aggregate) => {
            let is_key = |column: &Column| aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::Column(key) if key == column));
            of_columns.into_iter().filter(|(column, _)| is_key(column)).collect()
        }
        LogicalPlan::Window(window) => {
            let is_key = |column: &Column| window.window_expr.iter().all(|expr| is_partition_key(expr, column));
            of_columns.into_iter().filter(|(column, _)| is_key(column)).collect()
        }
        _ => Shares::new(),
    }
}

fn is_partition_key(expr: &Expr, column: &Column) -> bool {
    match expr {
        Expr::Alias(alias) => is_partition_key(&alias.expr, column),
        Expr::WindowFunction(function) => function.params.partition_by.iter().any(|key| matches!(key, Expr::Column(key) if key == column)),
        _ => false,
    }
}

/// The shares of columns of both sides of a join: those from above, and those that the sides give each other.
fn of_sides(join: &Join, of_columns: Shares) -> (Shares, Shares) {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let to_left = matches!(join.join_type, Inner | LeftSemi | RightSemi | Right | RightAnti | RightMark);
    let to_right = matches!(join.join_type, Inner | LeftSemi | RightSemi | Left | LeftAnti | LeftMark);
    let from_above = |plan: &LogicalPlan, is_kept: bool| -> Shares {
        let columns = of_columns.iter().filter(|(column, _)| is_kept && plan.schema().has_column(column));
        columns.map(|(column, share)| (column.clone(), *share)).collect()
    };
    let mut left = from_above(&join.left, !matches!(join.join_type, Right | Full));
    let mut right = from_above(&join.right, !matches!(join.join_type, Left | Full));
    for (of_left, of_right) in &join.on {
        let (Expr::Column(of_left), Expr::Column(of_right)) = (of_left, of_right) else { continue };
        let by_left = left.get(of_left).copied().unwrap_or(1.0).min(share(&join.left, of_left));
        let by_right = right.get(of_right).copied().unwrap_or(1.0).min(share(&join.right, of_right));
        if to_left && by_right < 1.0 {
            left.insert(of_left.clone(), by_left.min(by_right));
        }
        if to_right && by_left < 1.0 {
            right.insert(of_right.clone(), by_left.min(by_right));
        }
    }
    (left, right)
}

/// The share of a column's values in its table that the conditions on this table leave.
fn share(plan: &LogicalPlan, column: &Column) -> f64 {
    match plan {
        LogicalPlan::TableScan(scan) => scan_share(scan),
        LogicalPlan::Filter(filter) => share(&filter.input, column),
        LogicalPlan::Sort(sort) => share(&sort.input, column),
        LogicalPlan::Window(window) => share(&window.input, column),
        LogicalPlan::Distinct(Distinct::All(input)) => share(input, column),
        LogicalPlan::Aggregate(aggregate) => share(&aggregate.input, column),
        LogicalPlan::Projection(projection) => projected(projection, column).map_or(1.0, |column| share(&projection.input, &column)),
        LogicalPlan::SubqueryAlias(alias) => aliased(alias, column).map_or(1.0, |column| share(&alias.input, &column)),
        LogicalPlan::Join(join) if join.left.schema().has_column(column) => share(&join.left, column),
        LogicalPlan::Join(join) if join.right.schema().has_column(column) => share(&join.right, column),
        _ => 1.0,
    }
}

/// The column of a projection's input that is this one of its output.
fn projected(projection: &Projection, column: &Column) -> Option<Column> {
    match &projection.expr[projection.schema.maybe_index_of_column(column)?] {
        Expr::Column(column) => Some(column.clone()),
        Expr::Alias(alias) => match alias.expr.as_ref() {
            Expr::Column(column) => Some(column.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn aliased(alias: &SubqueryAlias, column: &Column) -> Option<Column> {
    Some(Column::from(alias.input.schema().qualified_field(alias.schema.maybe_index_of_column(column)?)))
}
