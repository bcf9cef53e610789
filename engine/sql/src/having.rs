//! `SELECT 1 FROM t HAVING true`: without GROUP BY all rows are one group, as in PostgreSQL. DataFusion handles that only if there are
//! aggregates.

use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Function, GroupByExpr, Query, Select, Visit, Visitor, VisitorMut};

use super::fragments::expr_of;
use super::merged_names::normalized;
use crate::walk::{Walk, walk_statement, walk_statement_mut};
use common::error::EngineError;

/// Whether a SELECT in the statement has HAVING, but neither GROUP BY nor an aggregate.
pub fn lacks_aggregates(state: &SessionState, statement: &Statement) -> bool {
    walk_statement(statement, &mut HavingFinder(state)).is_break()
}

/// Adds an aggregate without effect to the HAVING of each such SELECT.
pub fn add_aggregates(state: &SessionState, statement: &mut Statement) -> Result<(), EngineError> {
    let aggregate = expr_of("count(*) >= 0").map_err(|error| EngineError::internal(error.to_string()))?;
    let _ = walk_statement_mut(statement, &mut HavingRewriter { state, aggregate });
    Ok(())
}

/// Aggregates in ORDER BY are not searched: another one beside them has no effect.
fn lacks_aggregate(state: &SessionState, select: &Select) -> bool {
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty());
    if select.having.is_none() || is_grouped {
        return false;
    }
    !(has_aggregate(state, &select.projection) || has_aggregate(state, &select.having) || has_aggregate(state, &select.qualify))
}

/// Whether a part of a SELECT contains an aggregate of the rows of this SELECT.
pub fn has_aggregate(state: &SessionState, part: &impl Visit) -> bool {
    part.walk(&mut OwnAggregate { state, depth: 0 }).is_break()
}

/// Whether the expression is itself a call of an aggregate function, not of a window.
pub fn is_aggregate(state: &SessionState, expr: &Expr) -> bool {
    let Expr::Function(Function { name, over: None, .. }) = expr else { return false };
    let [part] = name.0.as_slice() else { return false };
    part.as_ident().is_some_and(|name| state.aggregate_functions().contains_key(&normalized(name)))
}

struct HavingFinder<'a>(&'a SessionState);

impl Visitor for HavingFinder<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if lacks_aggregate(self.0, select) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

struct HavingRewriter<'a> {
    state: &'a SessionState,
    aggregate: Expr,
}

impl VisitorMut for HavingRewriter<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if lacks_aggregate(self.state, select)
            && let Some(having) = select.having.take()
        {
            let left = Box::new(Expr::Nested(Box::new(having)));
            select.having = Some(Expr::BinaryOp { left, op: BinaryOperator::And, right: Box::new(self.aggregate.clone()) });
        }
        ControlFlow::Continue(())
    }
}

/// Stops at an aggregate outside of subqueries, whose aggregates are of their own rows.
struct OwnAggregate<'a> {
    state: &'a SessionState,
    depth: usize,
}

impl Visitor for OwnAggregate<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 0 && is_aggregate(self.state, expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
