//! `IN (SELECT …)` and `EXISTS` as parts of expressions, in every clause.
//!
//! DataFusion makes a join of one that is a whole condition of WHERE or HAVING. One within an expression becomes a column that says
//! whether a row was found, and that is false where `IN` is NULL: `(x IN (…)) IS NULL` was never true, and `x NOT IN (…) OR …` was true
//! where it is NULL. [`exact`] adds the NULL to the column, and [`single_rows`] handles aggregates that have a row without input. Outside
//! of conditions DataFusion supports neither; [`clauses`] moves them into conditions.

mod clauses;
mod exact;
mod single_rows;

pub use single_rows::of_single_rows;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};

/// Our rule, if this is DataFusion's that makes joins of subqueries.
pub fn in_place_of_predicates(rule: Rule) -> Rule {
    around(rule, &[&DecorrelatePredicateSubquery::new()], joins)
}

fn joins(theirs: &dyn OptimizerRule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let inner = plan.map_subqueries(|subquery| subquery.transform_down(|part| joins(theirs, part, config)))?;
    inner.transform_data(|plan| match plan {
        LogicalPlan::Filter(filter) if has_subquery(&filter.predicate) => {
            let mut exact = filter.clone();
            exact.predicate = exact::condition(exact.predicate, filter.input.schema())?;
            let plan = theirs.rewrite(LogicalPlan::Filter(exact), config)?.data;
            // A subquery that cannot be a join yet stays as it is. Otherwise the rewritten form would be found and rewritten again without
            // end.
            Ok(if leaves_subquery(&plan) { Transformed::no(LogicalPlan::Filter(filter)) } else { Transformed::yes(plan) })
        }
        LogicalPlan::Projection(projection) if projection.expr.iter().any(has_subquery) => {
            clauses::in_projection(projection, |filter| theirs.rewrite(filter, config))
        }
        LogicalPlan::Join(join) if join.filter.as_ref().is_some_and(has_subquery) => {
            // A condition of ON may be a WHERE now.
            clauses::in_join(join)?.transform_data(|plan| joins(theirs, plan, config))
        }
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Sort(_) => clauses::below(plan),
        plan => Ok(Transformed::no(plan)),
    })
}

fn leaves_subquery(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => leaves_subquery(&projection.input),
        LogicalPlan::Filter(filter) => has_subquery(&filter.predicate),
        _ => false,
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::InSubquery(_) | Expr::Exists(_))
}

fn has_subquery(expr: &Expr) -> bool {
    // The walk itself cannot fail.
    expr.exists(|part| Ok(is_subquery(part))).unwrap_or(true)
}
