//! Conditions that stay above an operator, because they would filter other rows below it.
//!
//! DataFusion pushes a condition down to where all its columns are, and a condition without columns (of a scalar subquery, a parameter,
//! random()) through everything. Three kinds are not pushed down here:
//!
//! - Below an aggregate that makes a row of empty input, a grand total or `()` among grouping sets, a condition without columns would drop
//!   the input rows and not that row.
//! - A volatile condition (of random()) is evaluated once for each row that it was written for: not for duplicates below DISTINCT, for the
//!   rows of a window, or for one side of a join.
//! - A condition on the outer row of a subquery stays above an alias: DataFusion would confuse columns below it with columns of that name.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::logical_plan::{Aggregate, Filter};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan};
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rule::{Rule, around};
use crate::functions::without_one_nan;

/// Our rule, if this is DataFusion's that pushes filters down.
pub fn in_place_of_filters(rule: Rule) -> Rule {
    around(rule, &[&PushDownFilter::new()], keep_above)
}

fn keep_above(theirs: &dyn OptimizerRule, mut plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Filter(filter) = &mut plan {
        // The function also wraps keys of unnested columns, and zone maps cannot be used for a function.
        filter.predicate = without_one_nan(std::mem::take(&mut filter.predicate), filter.input.schema())?;
    }
    if !has_terms_that_stay(&plan) {
        return theirs.rewrite(plan, config);
    }
    let mut terms = Vec::new();
    let mut input = Arc::new(plan);
    while let LogicalPlan::Filter(filter) = input.as_ref() {
        // The conditions of the lower filter are evaluated first.
        let inner = split_conjunction(&filter.predicate).into_iter().cloned();
        terms = inner.chain(terms).collect();
        input = Arc::clone(&filter.input);
    }
    let (above, others): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(|term| stays_above(term, &input));
    let (input, of_pairs) = without_terms_of_pairs(Arc::unwrap_or_clone(input));
    let moved = match conjunction(others) {
        Some(predicate) => theirs.rewrite(LogicalPlan::Filter(Filter::new(predicate, Arc::new(input))), config)?,
        None if above.is_empty() => theirs.rewrite(input, config)?,
        // The input is visited on its own.
        None => Transformed::no(input),
    };
    moved.map_data(|plan| Ok(with_terms_above(with_terms_of_pairs(plan, of_pairs), above)))
}

fn has_terms_that_stay(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter(filter) => {
            let mut input = &filter.input;
            while let LogicalPlan::Filter(inner) = input.as_ref() {
                input = &inner.input;
            }
            has_terms_of_pairs(input) || has_term_above(filter, input)
        }
        plan => has_terms_of_pairs(plan),
    }
}

fn has_term_above(filter: &Filter, input: &LogicalPlan) -> bool {
    split_conjunction(&filter.predicate).into_iter().any(|term| stays_above(term, input))
        || matches!(filter.input.as_ref(), LogicalPlan::Filter(inner) if has_term_above(inner, input))
}

fn stays_above(term: &Expr, input: &LogicalPlan) -> bool {
    match input {
        LogicalPlan::Aggregate(aggregate) => term.is_volatile() || (makes_a_row_of_nothing(aggregate) && term.column_refs().is_empty()),
        LogicalPlan::Join(_) | LogicalPlan::Window(_) | LogicalPlan::Distinct(_) | LogicalPlan::Unnest(_) | LogicalPlan::Extension(_) => {
            term.is_volatile()
        }
        LogicalPlan::SubqueryAlias(_) => term.contains_outer(),
        _ => false,
    }
}

fn makes_a_row_of_nothing(aggregate: &Aggregate) -> bool {
    match aggregate.group_expr.first() {
        None => true,
        Some(Expr::GroupingSet(GroupingSet::GroupingSets(sets))) => sets.iter().any(Vec::is_empty),
        Some(Expr::GroupingSet(GroupingSet::Rollup(_) | GroupingSet::Cube(_))) => true,
        Some(_) => false,
    }
}

/// Whether a part of a join's condition is volatile for each pair of rows.
fn has_terms_of_pairs(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.filter.as_ref().is_some_and(Expr::is_volatile))
}

fn without_terms_of_pairs(mut plan: LogicalPlan) -> (LogicalPlan, Vec<Expr>) {
    let LogicalPlan::Join(join) = &mut plan else { return (plan, Vec::new()) };
    let terms = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
    let (of_pairs, others): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(Expr::is_volatile);
    join.filter = conjunction(others);
    (plan, of_pairs)
}

/// After filters were pushed into a join, the result is still a join, or one below the remaining filter.
fn with_terms_of_pairs(mut plan: LogicalPlan, terms: Vec<Expr>) -> LogicalPlan {
    match &mut plan {
        LogicalPlan::Join(join) => join.filter = conjunction(join.filter.take().into_iter().chain(terms)),
        LogicalPlan::Filter(filter) => {
            filter.input = Arc::new(with_terms_of_pairs(Arc::unwrap_or_clone(std::mem::take(&mut filter.input)), terms));
        }
        _ => {}
    }
    plan
}

fn with_terms_above(plan: LogicalPlan, terms: Vec<Expr>) -> LogicalPlan {
    let (inner, input) = match plan {
        LogicalPlan::Filter(filter) => (Some(filter.predicate), filter.input),
        plan => (None, Arc::new(plan)),
    };
    match conjunction(inner.into_iter().chain(terms)) {
        Some(predicate) => LogicalPlan::Filter(Filter::new(predicate, input)),
        None => Arc::unwrap_or_clone(input),
    }
}
