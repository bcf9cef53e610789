//! The parameters in the body of a function. A name without a table that is a parameter's means the parameter; so do `function.name` and `$1`.
//! A column of that name is written with its table.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Ident, Spanned, Statement, Value, Visit, VisitMut, Visitor};
use datafusion::sql::sqlparser::tokenizer::Span;

use crate::locate::PositionFinder;
use crate::merged_names::normalized;
use crate::walk::{Walk, each_expr_mut};

/// Puts `value(i)` in the place of each mention of the parameter `i`.
pub fn with_parameters(part: &mut impl VisitMut, function: &str, names: &[&str], value: impl Fn(usize) -> Expr) {
    each_expr_mut(part, &mut |expr| {
        if let Some(at) = parameter_of(expr, function, names) {
            *expr = value(at);
        }
    });
}

fn parameter_of(expr: &Expr, function: &str, names: &[&str]) -> Option<usize> {
    let position = |name: &Ident| names.iter().position(|parameter| *parameter == normalized(name));
    match expr {
        Expr::Identifier(name) => position(name),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [of, name] if normalized(of) == function => position(name),
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Placeholder(number) => number.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < names.len()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a part of a body uses a parameter.
pub fn mentions_parameter(part: &impl Visit, function: &str, names: &[&str]) -> bool {
    struct Mention<'a>(&'a str, &'a [&'a str]);
    impl Visitor for Mention<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match parameter_of(expr, self.0, self.1) {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        }
    }
    part.walk(&mut Mention(function, names)).is_break()
}

/// A statement of a procedure as one with parameters.
pub struct StatementPart {
    /// The text with `$1`, `$2`, … in the place of names.
    pub text: String,
    /// The parameters of the procedure that are `$1`, `$2`, …
    pub used: Vec<usize>,
}

impl StatementPart {
    /// `sql` is the text of the statement. `types` are those of the parameters.
    pub fn of(sql: &str, statement: &Statement, procedure: &str, names: &[&str], types: &[String]) -> StatementPart {
        struct Mentions<'a> {
            procedure: &'a str,
            names: &'a [&'a str],
            found: Vec<(Span, usize)>,
        }
        impl Visitor for Mentions<'_> {
            type Break = ();

            fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
                if let Some(at) = parameter_of(expr, self.procedure, self.names) {
                    self.found.push((expr.span(), at));
                }
                ControlFlow::Continue(())
            }
        }
        let mut mentions = Mentions { procedure, names, found: Vec::new() };
        let _ = statement.walk(&mut mentions);
        mentions.found.sort_by_key(|(span, _)| (span.start.line, span.start.column));
        let (mut positions, mut text, mut copied, mut used) = (PositionFinder::of(sql), String::new(), 0, Vec::new());
        for (span, at) in mentions.found {
            let start = positions.offset(span.start.line, span.start.column);
            let end = positions.offset(span.end.line, span.end.column);
            let number = used.iter().position(|other| *other == at).unwrap_or_else(|| {
                used.push(at);
                used.len() - 1
            });
            text.push_str(&sql[copied..start]);
            text.push_str(&format!("CAST(${} AS {})", number + 1, types[at]));
            copied = end;
        }
        text.push_str(&sql[copied..]);
        StatementPart { text, used }
    }
}
