//! Checks what a correlated subquery must not contain.
//!
//! DataFusion moves the correlated condition out of the subquery, above the nodes there. If that would change the answer, the query is
//! refused: above a LIMIT, above a window, and above an aggregate whose result is used by a condition or another query.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::logical_plan::{Distinct, Limit, Projection, Subquery, SubqueryAlias};
use datafusion::logical_expr::{Expr, FetchType, LogicalPlan, SkipType};

use common::error::EngineError;

pub fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// Whether the form can be a scalar subquery.
pub fn is_single_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) => is_single_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

pub fn keeps_first_row(limit: &Limit) -> bool {
    matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)))
        && matches!(limit.get_fetch_type(), Ok(FetchType::Literal(rows)) if rows != Some(0))
}

/// Checks a scalar subquery: an aggregate on top has a row for each outer row, and DataFusion knows its value if no row is found.
pub fn check_scalar(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) | LogicalPlan::Distinct(Distinct::All(input)) => check_scalar(input),
        LogicalPlan::Aggregate(aggregate) => check_predicate(&aggregate.input, false),
        plan => check_predicate(plan, false),
    }
}

/// Checks the right side of a join if it is LATERAL: DataFusion makes other values next to aggregates NULL there.
pub fn check_lateral(plan: &LogicalPlan) -> Result<()> {
    let plan = match plan {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => return check_lateral(input),
        LogicalPlan::Subquery(lateral) if is_correlated(lateral) => lateral.subquery.as_ref(),
        _ => return Ok(()),
    };
    if let LogicalPlan::Projection(Projection { expr, input, .. }) = plan
        && is_single_row(input)
        && !expr.iter().all(Expr::any_column_refs)
    {
        let what = "a value beside an aggregate in LATERAL that is not computed of its rows";
        return Err(refused(what, "have the value in the SELECT list of the query around it"));
    }
    check_scalar(plan)
}

fn refused(what: &str, hint: &str) -> DataFusionError {
    EngineError::unsupported(what.to_string(), Some(hint)).into_datafusion()
}

/// Checks the subquery of IN, EXISTS, ANY and ALL. Moving conditions adds rows below, which does not change whether there are any, unless
/// a node above drops rows.
pub fn check_predicate(plan: &LogicalPlan, is_about_rows: bool) -> Result<()> {
    let wrong = match plan {
        LogicalPlan::Limit(limit) if !(is_about_rows && keeps_first_row(limit)) => Some("LIMIT"),
        LogicalPlan::Window(_) if !is_about_rows => Some("a window"),
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Some("an aggregate without GROUP BY"),
        _ => None,
    };
    let is_below = |input: &&LogicalPlan| looks_outside(input);
    if let Some(what) = wrong
        && plan.inputs().iter().any(is_below)
    {
        let what = format!("{what} in a subquery that looks at the row outside of it");
        return Err(refused(&what, "join with a subquery that has what it needs of all rows, by GROUP BY or PARTITION BY"));
    }
    let is_about_rows = is_about_rows && !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
    plan.inputs().into_iter().filter(is_below).try_for_each(|input| check_predicate(input, is_about_rows))
}

/// A nested LATERAL refers to its own siblings and does not count.
fn looks_outside(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walk = plan.apply(|below| {
        found |= !matches!(below, LogicalPlan::Subquery(_)) && below.contains_outer_reference();
        Ok(match below {
            _ if found => TreeNodeRecursion::Stop,
            LogicalPlan::Subquery(_) => TreeNodeRecursion::Jump,
            _ => TreeNodeRecursion::Continue,
        })
    });
    // The walk itself cannot fail.
    found || walk.is_err()
}
