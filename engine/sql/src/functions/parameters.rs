//! The parameters in the body of a function. A name without a table that is a parameter's means the parameter; so do `function.name` and `$1`.
//! A column of that name is written with its table.

use std::cell::RefCell;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Ident, SelectItem, SetExpr, Spanned, Statement, Value, Visit, VisitMut, Visitor,
};
use datafusion::sql::sqlparser::tokenizer::{Location, Span};

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
    pub fn of(sql: &str, statement: &Statement, procedure: &str, names: &[&str], types: &[DataType]) -> StatementPart {
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
        let mut used = Vec::new();
        let mut edits: Vec<(Location, Location, String)> = Vec::new();
        for (span, at) in mentions.found {
            edits.push((span.start, span.end, format!("CAST(${} AS {})", number_of(&mut used, at), types[at])));
        }
        // A column of the result is called as it was written.
        for item in items_of(statement) {
            let span = item.span();
            let has_parameter = edits.iter().any(|(start, end, _)| span.start <= *start && *end <= span.end);
            if has_parameter {
                let alias = Ident::with_quote('"', written(sql, span));
                edits.push((span.end, span.end, format!(" AS {alias}")));
            }
        }
        edits.sort_by_key(|(start, end, _)| (*start, *end));
        let (mut positions, mut text, mut copied) = (PositionFinder::of(sql), String::new(), 0);
        for (start, end, edit) in edits {
            let start = positions.offset(start.line, start.column);
            let end = positions.offset(end.line, end.column);
            text.push_str(&sql[copied..start]);
            text.push_str(&edit);
            copied = end;
        }
        text.push_str(&sql[copied..]);
        StatementPart { text, used }
    }

    /// A CALL of another procedure.
    pub fn of_call(name: &str, mut arguments: Vec<Expr>, procedure: &str, names: &[&str], types: &[DataType]) -> StatementPart {
        let used = RefCell::new(Vec::new());
        with_parameters(&mut arguments, procedure, names, |at| {
            let number = number_of(&mut used.borrow_mut(), at);
            cast(Expr::Value(Value::Placeholder(format!("${number}")).into()), &types[at])
        });
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        StatementPart { text: format!("CALL {name}({})", arguments.join(", ")), used: used.into_inner() }
    }
}

/// From 1.
fn number_of(used: &mut Vec<usize>, at: usize) -> usize {
    let position = used.iter().position(|other| *other == at).unwrap_or_else(|| {
        used.push(at);
        used.len() - 1
    });
    position + 1
}

/// The expressions without an alias in the SELECT list of a query.
fn items_of(statement: &Statement) -> impl Iterator<Item = &Expr> {
    let select = match statement {
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.projection.as_slice(),
            _ => &[],
        },
        _ => &[],
    };
    select.iter().filter_map(|item| if let SelectItem::UnnamedExpr(expr) = item { Some(expr) } else { None })
}

fn written(sql: &str, span: Span) -> &str {
    let mut positions = PositionFinder::of(sql);
    let start = positions.offset(span.start.line, span.start.column);
    &sql[start..positions.offset(span.end.line, span.end.column)]
}

pub fn cast(expr: Expr, data_type: &DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type: data_type.clone(), array: false, format: None }
}
