//! In which order a plan must return its rows.

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Sort, SortExpr, SubqueryAlias};

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
