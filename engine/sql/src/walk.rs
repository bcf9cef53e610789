//! Walks over syntax trees that are compiled once.
//!
//! `Visit::visit` is compiled anew for each visitor, with the whole syntax tree: thousands of functions for each of some sixty visitors. Here
//! the visitor is a trait object, so there is one copy for each kind of result.

use std::ops::ControlFlow;

use datafusion::sql::parser;
use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, OrderBy, Query, Select, SetExpr, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

use common::error::EngineError;

/// A part of a statement that visitors read.
pub trait Walk: Visit {
    fn walk<B>(&self, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
        self.visit(&mut AnyVisitor(visitor))
    }
}

/// A part of a statement that visitors change.
pub trait WalkMut: VisitMut {
    fn walk_mut<B>(&mut self, visitor: &mut dyn VisitorMut<Break = B>) -> ControlFlow<B> {
        self.visit(&mut AnyVisitorMut(visitor))
    }
}

impl<T: Visit + ?Sized> Walk for T {}
impl<T: VisitMut + ?Sized> WalkMut for T {}

/// The statement itself, also if it is inside of EXPLAIN; `None` for those that only DataFusion's parser knows.
pub fn sql_statement(statement: &parser::Statement) -> Option<&Statement> {
    match statement {
        parser::Statement::Statement(statement) => Some(statement.as_ref()),
        parser::Statement::Explain(explain) => sql_statement(&explain.statement),
        parser::Statement::CreateExternalTable(_) | parser::Statement::CopyTo(_) | parser::Statement::Reset(_) => None,
    }
}

pub fn sql_statement_mut(statement: &mut parser::Statement) -> Option<&mut Statement> {
    match statement {
        parser::Statement::Statement(statement) => Some(statement.as_mut()),
        parser::Statement::Explain(explain) => sql_statement_mut(&mut explain.statement),
        parser::Statement::CreateExternalTable(_) | parser::Statement::CopyTo(_) | parser::Statement::Reset(_) => None,
    }
}

/// A walk over the [`sql_statement`], if there is one.
pub fn walk_statement<B>(statement: &parser::Statement, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    sql_statement(statement).map_or(ControlFlow::Continue(()), |statement| statement.walk(visitor))
}

pub fn walk_statement_mut<B>(statement: &mut parser::Statement, visitor: &mut dyn VisitorMut<Break = B>) -> ControlFlow<B> {
    sql_statement_mut(statement).map_or(ControlFlow::Continue(()), |statement| statement.walk_mut(visitor))
}

/// Calls `change` with each expression, after the expressions in it.
pub fn each_expr_mut(part: &mut impl VisitMut, change: &mut dyn FnMut(&mut Expr)) {
    struct Exprs<'a>(&'a mut dyn FnMut(&mut Expr));
    impl VisitorMut for Exprs<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            (self.0)(expr);
            ControlFlow::Continue(())
        }
    }
    let _ = part.walk_mut(&mut Exprs(change));
}

/// Calls `change` with each SELECT of a query outside of subqueries. Only one without a set operation has the ORDER BY of the query.
pub fn each_select_mut(
    body: &mut SetExpr,
    order_by: Option<&mut OrderBy>,
    change: &mut dyn FnMut(&mut Select, Option<&mut OrderBy>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    match body {
        SetExpr::Select(select) => change(select, order_by),
        SetExpr::SetOperation { left, right, .. } => {
            each_select_mut(left, None, change)?;
            each_select_mut(right, None, change)
        }
        _ => Ok(()),
    }
}

/// The error that ended a walk.
pub fn into_result<E>(flow: ControlFlow<E>) -> Result<(), E> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Ends a walk at an error.
pub fn into_flow<E>(result: Result<(), E>) -> ControlFlow<E> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

struct AnyVisitor<'a, B>(&'a mut dyn Visitor<Break = B>);
struct AnyVisitorMut<'a, B>(&'a mut dyn VisitorMut<Break = B>);

macro_rules! forward {
    ($($method:ident($node:ty)),*) => {
        $(fn $method(&mut self, node: $node) -> ControlFlow<B> {
            self.0.$method(node)
        })*
    };
}

impl<B> Visitor for AnyVisitor<'_, B> {
    type Break = B;

    forward! {
        pre_visit_query(&Query), post_visit_query(&Query), pre_visit_select(&Select), post_visit_select(&Select),
        pre_visit_relation(&ObjectName), post_visit_relation(&ObjectName),
        pre_visit_table_factor(&TableFactor), post_visit_table_factor(&TableFactor),
        pre_visit_expr(&Expr), post_visit_expr(&Expr), pre_visit_statement(&Statement), post_visit_statement(&Statement),
        pre_visit_value(&ValueWithSpan), post_visit_value(&ValueWithSpan)
    }
}

impl<B> VisitorMut for AnyVisitorMut<'_, B> {
    type Break = B;

    forward! {
        pre_visit_query(&mut Query), post_visit_query(&mut Query), pre_visit_select(&mut Select), post_visit_select(&mut Select),
        pre_visit_relation(&mut ObjectName), post_visit_relation(&mut ObjectName),
        pre_visit_table_factor(&mut TableFactor), post_visit_table_factor(&mut TableFactor),
        pre_visit_expr(&mut Expr), post_visit_expr(&mut Expr), pre_visit_statement(&mut Statement), post_visit_statement(&mut Statement),
        pre_visit_value(&mut ValueWithSpan), post_visit_value(&mut ValueWithSpan)
    }
}
