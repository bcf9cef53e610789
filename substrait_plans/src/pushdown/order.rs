//! How pushing down a part of a plan would affect its rows: their order must stay the same, and their number must not grow.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType};
use datafusion::logical_expr::{Expr, FetchType, Join, LogicalPlan, Projection, Sort, SortExpr, SubqueryAlias};

pub enum Order {
    /// No order is required.
    Free,
    /// By columns of the plan.
    By(Vec<SortExpr>),
    /// By an expression that is not a column of the plan.
    Lost,
}

/// The order in which the plan must return its rows.
pub fn order_of(plan: &LogicalPlan) -> Order {
    let order = match plan {
        LogicalPlan::Sort(sort) => of_sort(sort),
        LogicalPlan::Limit(limit) => order_of(&limit.input),
        LogicalPlan::Filter(filter) => order_of(&filter.input),
        LogicalPlan::Projection(projection) => of_projection(projection),
        LogicalPlan::SubqueryAlias(alias) => of_alias(alias),
        _ => Order::Free,
    };
    let is_shown = |key: &SortExpr| key.expr.column_refs().into_iter().all(|column| plan.schema().has_column(column));
    match order {
        Order::By(keys) if !keys.iter().all(is_shown) => Order::Lost,
        order => order,
    }
}

/// A sort of all rows is pushed down only if that saves sorting them here.
fn of_sort(sort: &Sort) -> Order {
    match sort.fetch.is_some() || sort.expr.iter().all(|key| matches!(key.expr, Expr::Column(_))) {
        true => Order::By(sort.expr.clone()),
        false => Order::Lost,
    }
}

fn of_projection(projection: &Projection) -> Order {
    let keys = match order_of(&projection.input) {
        Order::By(keys) => keys,
        order => return order,
    };
    let shown = |key: SortExpr| {
        let place = projection.expr.iter().position(|expr| without_alias(expr) == &key.expr)?;
        let column = Column::from(projection.schema.qualified_field(place));
        Some(SortExpr { expr: Expr::Column(column), ..key })
    };
    match keys.into_iter().map(shown).collect::<Option<Vec<_>>>() {
        Some(keys) => Order::By(keys),
        None => Order::Lost,
    }
}

fn without_alias(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => without_alias(&alias.expr),
        expr => expr,
    }
}

fn of_alias(alias: &SubqueryAlias) -> Order {
    let keys = match order_of(&alias.input) {
        Order::By(keys) => keys,
        order => return order,
    };
    let renamed = |key: SortExpr| {
        let expr = key.expr.transform(|part| match part {
            Expr::Column(column) => Ok(Transformed::yes(Expr::Column(Column::new(Some(alias.alias.clone()), column.name)))),
            part => Ok(Transformed::no(part)),
        });
        Some(SortExpr { expr: expr.data().ok()?, asc: key.asc, nulls_first: key.nulls_first })
    };
    match keys.into_iter().map(renamed).collect::<Option<Vec<_>>>() {
        Some(keys) => Order::By(keys),
        None => Order::Lost,
    }
}

/// Whether a plan may have more rows than its tables together.
pub fn may_multiply(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => may_multiply(&projection.input),
        LogicalPlan::Filter(filter) => may_multiply(&filter.input),
        LogicalPlan::SubqueryAlias(alias) => may_multiply(&alias.input),
        LogicalPlan::Window(window) => may_multiply(&window.input),
        LogicalPlan::Sort(sort) => sort.fetch.is_none() && may_multiply(&sort.input),
        LogicalPlan::Limit(limit) => {
            let is_bounded = matches!(limit.get_fetch_type(), Ok(FetchType::Literal(Some(_))));
            !is_bounded && may_multiply(&limit.input)
        }
        LogicalPlan::Union(union) => union.inputs.iter().any(|input| may_multiply(input)),
        LogicalPlan::Join(join) => joins_many(join),
        _ => false,
    }
}

fn joins_many(join: &Join) -> bool {
    let (left, right) = (&join.left, &join.right);
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => may_multiply(left),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => may_multiply(right),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
            let is_one = |side: &LogicalPlan| side.max_rows().is_some_and(|rows| rows <= 1);
            let has_key = !join.on.is_empty() || is_one(left) || is_one(right);
            !has_key || may_multiply(left) || may_multiply(right)
        }
    }
}
