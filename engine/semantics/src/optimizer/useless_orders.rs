//! The order of a query in FROM, below what forgets it: groups, joins and unions. DataFusion drops most such sorts once it has operators, but
//! chooses to sort for groups by a part of the keys, and leaves the sort of the probe side of a join.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::logical_plan::{Aggregate, Distinct, Sort};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Aggregates that take values in the order of the rows.
const OF_ROWS_IN_ORDER: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];

pub fn without_useless_orders(plan: LogicalPlan) -> Result<LogicalPlan> {
    let changed = plan.transform_down_with_subqueries(|node| match &node {
        LogicalPlan::Aggregate(aggregate) if takes_rows_in_order(aggregate)? => Ok(Transformed::no(node)),
        LogicalPlan::Aggregate(_) | LogicalPlan::Join(_) | LogicalPlan::Union(_) | LogicalPlan::Distinct(Distinct::All(_)) => {
            node.map_children(in_any_order)
        }
        _ => Ok(Transformed::no(node)),
    });
    changed.data()
}

fn takes_rows_in_order(aggregate: &Aggregate) -> Result<bool> {
    let mut takes = false;
    for expr in &aggregate.aggr_expr {
        takes |= expr.exists(|part| {
            Ok(matches!(part, Expr::AggregateFunction(call) if OF_ROWS_IN_ORDER.contains(&call.func.name()) && call.params.order_by.is_empty()))
        })?;
    }
    Ok(takes)
}

/// Without the sort of all rows.
fn in_any_order(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Sort(Sort { input, fetch: None, .. }) => {
            let input = in_any_order(Arc::unwrap_or_clone(input))?.data;
            Ok(Transformed::yes(input))
        }
        plan @ (LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_)) => plan.map_children(in_any_order),
        plan => Ok(Transformed::no(plan)),
    }
}
