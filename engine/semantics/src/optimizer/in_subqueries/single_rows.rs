//! Correlated subqueries that have one row whatever they find.
//!
//! An aggregate without groups has a row even without input. DataFusion's joins have none then:
//! `0 IN (SELECT count(*) FROM u WHERE u.a = t.a)` was false if no `a` matched. So it becomes a comparison with the value of the scalar
//! subquery, which handles that case.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::logical_plan::{Projection, SubqueryAlias};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, lit};

use crate::optimizer::correlated_checks::{check_predicate, is_correlated, is_single_row, keeps_first_row};

/// The expression with comparisons instead of `IN`, and with the known value of `EXISTS`; an error for a subquery without a correct
/// rewrite.
pub fn of_single_rows(expr: Expr) -> Result<Expr> {
    expr.transform_up(|part| match part {
        Expr::InSubquery(part) if is_correlated(&part.subquery) => match is_single_row(&part.subquery.subquery) {
            true => {
                let value = Expr::ScalarSubquery(part.subquery);
                Ok(Transformed::yes(if part.negated { (*part.expr).not_eq(value) } else { (*part.expr).eq(value) }))
            }
            false => check_predicate(&part.subquery.subquery, false).map(|()| Transformed::no(Expr::InSubquery(part))),
        },
        Expr::Exists(part) if is_correlated(&part.subquery) => match has_single_row(&part.subquery.subquery) {
            true => Ok(Transformed::yes(lit(!part.negated))),
            false => check_predicate(&part.subquery.subquery, true).map(|()| Transformed::no(Expr::Exists(part))),
        },
        Expr::SetComparison(part) if is_correlated(&part.subquery) => match is_single_row(&part.subquery.subquery) {
            true => {
                let value = Box::new(Expr::ScalarSubquery(part.subquery));
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left: part.expr, op: part.op, right: value })))
            }
            false => check_predicate(&part.subquery.subquery, false).map(|()| Transformed::no(Expr::SetComparison(part))),
        },
        part => Ok(Transformed::no(part)),
    })
    .data()
}

fn has_single_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) | LogicalPlan::Projection(Projection { input, .. }) => {
            has_single_row(input)
        }
        LogicalPlan::Sort(sort) => sort.fetch != Some(0) && has_single_row(&sort.input),
        LogicalPlan::Limit(limit) => keeps_first_row(limit) && has_single_row(&limit.input),
        plan => is_single_row(plan),
    }
}
