//! `x > ALL (SELECT y …)` and the like: gives the column of the subquery a unique name.
//!
//! DataFusion rewrites it to a filter over both sides, where it would find an outer column of the same name (test
//! `quantified comparisons`, sqllogictests/slt/subqueries.slt).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, GroupByExpr, Ident, Query, SelectItem, SetExpr, Value, Visitor};

use super::fragments::{expr_of, query_of};
use super::headers::text;
use crate::walk::Walk;
use common::error::EngineError;
use common::names::ANY_EQUALS;

const COLUMN: &str = "quantified_value";
const TABLE: &str = "quantified_rows";
const ARRAY_HAS: &str = "array_has";

/// Changes such a comparison in place. `= ANY` becomes `IN` and `<> ALL` becomes `NOT IN`, because these become joins by key.
pub fn name_quantified(expr: &mut Expr) {
    let (negated, left, query) = match expr {
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => (Some(false), left, right),
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (Some(true), left, right),
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => (None, left, right),
        _ => return,
    };
    let Expr::Subquery(query) = query.as_mut() else { return };
    match negated {
        Some(negated) => {
            let left = Box::new(std::mem::replace(left.as_mut(), Expr::value(Value::Null)));
            *expr = Expr::InSubquery { expr: left, subquery: query.clone(), negated };
        }
        None => {
            if let Some(named) = named(query) {
                **query = named;
            }
        }
    }
}

/// `x = ANY (list)` calls a function of the session. DataFusion's own does not support a decimal with a list of floats.
fn call_of_any(expr: &mut Expr, function: &str) -> Result<(), EngineError> {
    match &*expr {
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if !matches!(right.as_ref(), Expr::Subquery(_)) => {
            *expr = rewrite_quantified(&format!("{function}({right}, {left})"))?;
        }
        _ => {}
    }
    Ok(())
}

fn rewrite_quantified(sql: &str) -> Result<Expr, EngineError> {
    expr_of(sql).map_err(|error| EngineError::internal(error.to_string()))
}

/// `x = ANY (list)` is NULL if no element makes it true and one is NULL. DataFusion returns FALSE.
pub fn keep_unknown(expr: &mut Expr) -> Result<(), EngineError> {
    let Expr::AnyOp { right, .. } = &*expr else { return Ok(()) };
    let has_no_null =
        |elements: &[Expr]| elements.iter().all(|element| matches!(element, Expr::Value(value) if value.value != Value::Null));
    match right.as_ref() {
        Expr::Subquery(_) => return Ok(()),
        // A parameter has no type before it has a value.
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => return call_of_any(expr, ANY_EQUALS),
        Expr::Array(list) if has_no_null(&list.elem) => return call_of_any(expr, ARRAY_HAS),
        _ => {}
    }
    let unknown = format!("CASE WHEN array_position({right}, NULL) IS NOT NULL THEN NULL ELSE false END");
    let unknown = rewrite_quantified(&unknown)?;
    call_of_any(expr, ARRAY_HAS)?;
    let known = Box::new(Expr::Nested(Box::new(std::mem::replace(expr, Expr::value(Value::Null)))));
    *expr = Expr::Nested(Box::new(Expr::BinaryOp { left: known, op: BinaryOperator::Or, right: Box::new(unknown) }));
    Ok(())
}

/// In a SELECT list it needs an alias, because DataFusion changes its name during planning.
pub fn name_quantified_item(item: &mut SelectItem) {
    if let SelectItem::UnnamedExpr(expr) = item
        && expr.walk(&mut IsQuantified).is_break()
    {
        let alias = Ident::with_quote('"', text(expr));
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

struct IsQuantified;

impl Visitor for IsQuantified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } if matches!(right.as_ref(), Expr::Subquery(_)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The query with its column renamed; `None` if that cannot be written, and then the query stays as it is.
fn named(query: &Query) -> Option<Query> {
    if let Some(named) = with_alias(query) {
        return Some(named);
    }
    let sql = format!("SELECT {TABLE}.{COLUMN} FROM ({query}) AS {TABLE}({COLUMN})");
    query_of(&sql).ok().filter(|query| matches!(query.body.as_ref(), SetExpr::Select(_)))
}

/// Renames the column within the query, if nothing else in the query can mean the old name. A query around it would hide the outer row.
fn with_alias(query: &Query) -> Option<Query> {
    let mut query = query.clone();
    let is_ordered = query.order_by.is_some();
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let is_grouped =
        select.having.is_some() || select.qualify.is_some() || select.group_by != GroupByExpr::Expressions(Vec::new(), Vec::new());
    let [item] = select.projection.as_mut_slice() else { return None };
    let expr = match &*item {
        SelectItem::UnnamedExpr(expr) if !is_ordered => expr.clone(),
        SelectItem::ExprWithAlias { expr, .. } if !is_ordered && !is_grouped => expr.clone(),
        _ => return None,
    };
    *item = SelectItem::ExprWithAlias { expr, alias: Ident::new(COLUMN) };
    Some(query)
}
