//! Subqueries that look at the row outside, and have one row whatever they find there.
//!
//! An aggregate without groups has a row, also where it is of no rows. DataFusion's joins have none then: `0 IN (SELECT count(*) FROM u WHERE
//! u.a = t.a)` was false where no `a` is the same. So that is a comparison with the value, which knows of it. What DataFusion
//! would move a condition out of, and change by that, is refused: a LIMIT, a window, and an aggregate that a condition or another query
//! is about.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::logical_plan::{Limit, Projection, Subquery, SubqueryAlias};
use datafusion::logical_expr::{BinaryExpr, Expr, FetchType, LogicalPlan, SkipType, lit};

use crate::error::EngineError;

pub fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// The expression with comparisons in the place of `IN`, and with what is known of `EXISTS`; an error for what has no right answer.
pub fn of_single_rows(expr: Expr) -> Result<Expr> {
    expr.transform_up(|part| match part {
        Expr::InSubquery(part) if is_correlated(&part.subquery) => match is_single_row(&part.subquery.subquery) {
            true => {
                let value = Expr::ScalarSubquery(part.subquery);
                Ok(Transformed::yes(if part.negated { (*part.expr).not_eq(value) } else { (*part.expr).eq(value) }))
            }
            false => check(&part.subquery.subquery, false).map(|()| Transformed::no(Expr::InSubquery(part))),
        },
        Expr::Exists(part) if is_correlated(&part.subquery) => match has_single_row(&part.subquery.subquery) {
            true => Ok(Transformed::yes(lit(!part.negated))),
            false => check(&part.subquery.subquery, true).map(|()| Transformed::no(Expr::Exists(part))),
        },
        Expr::SetComparison(part) if is_correlated(&part.subquery) => match is_single_row(&part.subquery.subquery) {
            true => {
                let value = Box::new(Expr::ScalarSubquery(part.subquery));
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left: part.expr, op: part.op, right: value })))
            }
            false => check(&part.subquery.subquery, false).map(|()| Transformed::no(Expr::SetComparison(part))),
        },
        part => Ok(Transformed::no(part)),
    })
    .data()
}

/// Of a form that may be a scalar subquery.
fn is_single_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) => is_single_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

fn has_single_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) | LogicalPlan::Projection(Projection { input, .. }) => has_single_row(input),
        LogicalPlan::Sort(sort) => sort.fetch != Some(0) && has_single_row(&sort.input),
        LogicalPlan::Limit(limit) => keeps_first_row(limit) && has_single_row(&limit.input),
        plan => is_single_row(plan),
    }
}

fn keeps_first_row(limit: &Limit) -> bool {
    matches!(limit.get_skip_type(), Ok(SkipType::Literal(0))) && matches!(limit.get_fetch_type(), Ok(FetchType::Literal(rows)) if rows != Some(0))
}

/// Of a scalar subquery: an aggregate on top has a row for each row outside, and DataFusion knows what it is where nothing is found.
pub fn check_scalar(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) => check_scalar(input),
        LogicalPlan::Aggregate(aggregate) => check(&aggregate.input, false),
        plan => check(plan, false),
    }
}

/// Of the right side of a join, if it is LATERAL: there it takes what is beside aggregates for NULL.
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
        return Err(refused("a constant beside an aggregate in LATERAL", "have the constant in the SELECT list of the query around it"));
    }
    check_scalar(plan)
}

fn refused(what: &str, hint: &str) -> DataFusionError {
    EngineError::unsupported(what.to_string(), Some(hint)).into_datafusion()
}

/// Whether there are rows is the same of more rows, as long as none is left out above.
fn check(plan: &LogicalPlan, is_about_rows: bool) -> Result<()> {
    let wrong = match plan {
        LogicalPlan::Limit(limit) if !(is_about_rows && keeps_first_row(limit)) => Some("LIMIT"),
        LogicalPlan::Window(_) if !is_about_rows => Some("a window"),
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Some("an aggregate without GROUP BY"),
        LogicalPlan::SubqueryAlias(_) => Some("a query in FROM"),
        _ => None,
    };
    // The walk itself cannot fail.
    let is_below = |input: &&LogicalPlan| input.exists(|below| Ok(below.contains_outer_reference())).unwrap_or(true);
    if let Some(what) = wrong
        && plan.inputs().iter().any(is_below)
    {
        let what = format!("{what} in a subquery that looks at the row outside of it");
        return Err(refused(&what, "join with a subquery that has what it needs of all rows, by GROUP BY or PARTITION BY"));
    }
    let is_about_rows = is_about_rows && !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
    plan.inputs().into_iter().filter(is_below).try_for_each(|input| check(input, is_about_rows))
}
