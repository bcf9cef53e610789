//! The numbers that stand for a LIMIT, and the order in which rows are numbered.

use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::{LogicalPlan, SortExpr};

use crate::plan_order::{Order, order_of};

/// The column with the numbers.
pub const NUMBER: &str = "__number";

/// The order that a LIMIT is about, empty if the rows have none; `None` if it is by what is no column of the plan.
pub fn order_of_rows(plan: &LogicalPlan) -> Option<Vec<SortExpr>> {
    if let LogicalPlan::Sort(sort) = plan {
        return Some(sort.expr.clone());
    }
    match order_of(plan) {
        Order::By(keys) => Some(keys),
        Order::Free if !is_of_first_rows(plan) => Some(Vec::new()),
        Order::Free | Order::Lost => None,
    }
}

/// Whether the rows are those of a DISTINCT ON in an order.
fn is_of_first_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Distinct(Distinct::On(on)) => on.sort_expr.is_some(),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) | LogicalPlan::Limit(_) => {
            plan.inputs().into_iter().any(is_of_first_rows)
        }
        _ => false,
    }
}
