//! The calls of functions in a statement.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, ObjectName, Query, TableFactor, Visitor, VisitorMut};

use super::parameters::mentions_parameter;
use crate::walk::{Walk, walk_statement, walk_statement_mut};

#[derive(Default)]
struct Calls(Vec<ObjectName>);

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.0.push(function.name.clone());
        }
        ControlFlow::Continue(())
    }
}

/// The names of functions that expressions call.
pub fn calls_of(statement: &Statement) -> Vec<ObjectName> {
    let mut calls = Calls::default();
    let _ = walk_statement(statement, &mut calls);
    calls.0
}

/// The same in one expression.
pub fn calls_in(expr: &Expr) -> Vec<ObjectName> {
    let mut calls = Calls::default();
    let _ = expr.walk(&mut calls);
    calls.0
}

/// The names of functions that are called in FROM.
pub fn table_calls_of(statement: &Statement) -> Vec<ObjectName> {
    #[derive(Default)]
    struct Calls(Vec<ObjectName>);
    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } = factor {
                self.0.push(name.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut calls = Calls::default();
    let _ = walk_statement(statement, &mut calls);
    calls.0
}

/// Whether an expression mentions a column or has a subquery, whose names mean something else where the expression is put.
pub fn has_columns(expr: &Expr) -> bool {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.walk(&mut Columns).is_break()
}

/// Whether a function in FROM gets a parameter of the function whose body this is.
pub fn passes_on(query: &Query, function: &str, names: &[&str]) -> bool {
    struct Arguments<'a>(&'a str, &'a [&'a str]);
    impl Visitor for Arguments<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let arguments: &[FunctionArg] = match factor {
                TableFactor::Table { args: Some(arguments), .. } => &arguments.args,
                TableFactor::Function { args, .. } => args,
                _ => &[],
            };
            match arguments.iter().any(|argument| mentions_parameter(argument, self.0, self.1)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    query.walk(&mut Arguments(function, names)).is_break()
}

/// Calls `change` with each call of a function in FROM.
pub fn each_table_call_mut(statement: &mut Statement, change: &mut dyn FnMut(&mut TableFactor)) {
    struct Calls<'a>(&'a mut dyn FnMut(&mut TableFactor));
    impl VisitorMut for Calls<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            if matches!(factor, TableFactor::Table { args: Some(_), .. } | TableFactor::Function { .. }) {
                (self.0)(factor);
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk_statement_mut(statement, &mut Calls(change));
}
