//! Finds the position of an error that DataFusion reports without one: conditions that are not BOOLEAN, and aggregates in WHERE.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, Join, JoinConstraint, Query, Select, Spanned, Statement as SqlStatement, TableWithJoins, UnaryOperator,
    Value, Visitor,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use sql::locate::offset_of;
use sql::parse::{Parsed, parse};
use sql::walk::{Walk, walk_statement};
use table::catalog::constraint_of;

/// What an error says about the wrong part.
enum ErrorSpan<'a> {
    /// As the plan prints it.
    Filter {
        shown: &'a str,
    },
    JoinCondition,
    /// In HAVING without GROUP BY.
    Having,
    AggregateInWhere,
    /// AND or OR, and whether its left side is a condition.
    Side {
        operator: &'a str,
        left_is_condition: bool,
    },
    Comparison {
        operator: &'a str,
    },
}

/// `None` if it is unclear which of several parts is meant.
pub fn error_span(sql: &str, state: &SessionState, error: &DataFusionError) -> Option<usize> {
    let DataFusionError::Plan(message) = error.find_root() else { return None };
    let wrong = ErrorSpan::of(message)?;
    let is_aggregate = |name: &str| state.aggregate_functions().contains_key(name);
    let mut search = Search { wrong: &wrong, is_aggregate: &is_aggregate, candidates: Vec::new() };
    let _ = match parse(state, sql).ok()? {
        Parsed::Statement(statement) => walk_statement(&statement, &mut search),
        Parsed::CreateTable(create, _) => create.walk(&mut search),
        _ => return None,
    };
    let start = wrong.start(&search.candidates)?;
    (start.line > 0).then(|| offset_of(sql, start.line, start.column))
}

impl ErrorSpan<'_> {
    fn of(message: &str) -> Option<ErrorSpan<'_>> {
        if let Some(rest) = message.strip_prefix("Cannot create filter with non-boolean predicate '") {
            return Some(ErrorSpan::Filter { shown: rest.rsplit_once("' returning ")?.0 });
        }
        if let Some(types) = message.strip_prefix("Cannot infer common argument type for logical boolean operation ") {
            let operator = types.split(' ').find(|word| matches!(*word, "AND" | "OR"))?;
            return Some(ErrorSpan::Side { operator, left_is_condition: types.starts_with("Boolean ") });
        }
        if let Some(types) = message.strip_prefix("Cannot infer common argument type for comparison operation ") {
            let operator = types.split(' ').find(|word| word.chars().all(|char| "=<>!".contains(char)))?;
            return Some(ErrorSpan::Comparison { operator });
        }
        [
            ("Join condition must be boolean type", ErrorSpan::JoinCondition),
            ("HAVING clause references: ", ErrorSpan::Having),
            ("Aggregate functions are not allowed in the WHERE clause", ErrorSpan::AggregateInWhere),
        ]
        .into_iter()
        .find_map(|(beginning, part)| message.starts_with(beginning).then_some(part))
    }

    fn start(&self, candidates: &[SpanCandidate]) -> Option<Location> {
        match (candidates, self) {
            // The error may come from a view, and then none of them is meant.
            (candidates, ErrorSpan::Filter { shown }) => {
                candidates.iter().find(|candidate| is_shown_as(&candidate.text, shown)).map(|candidate| candidate.start)
            }
            ([only], _) => Some(only.start),
            ([first, ..], ErrorSpan::AggregateInWhere) => Some(first.start),
            _ => None,
        }
    }
}

/// A part of the statement that may be the wrong one.
struct SpanCandidate {
    start: Location,
    text: String,
}

impl From<&Expr> for SpanCandidate {
    fn from(expr: &Expr) -> Self {
        SpanCandidate { start: expr.span().start, text: expr.to_string() }
    }
}

/// Whether its form shows that it is BOOLEAN; a column or a function may be BOOLEAN too.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::BinaryOp { op, .. } => !is_arithmetic(op),
        Expr::UnaryOp { op, .. } => matches!(op, UnaryOperator::Not | UnaryOperator::BangNot),
        Expr::Value(value) => matches!(value.value, Value::Boolean(_) | Value::Null),
        Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::IsTrue(_) | Expr::IsNotTrue(_) | Expr::IsFalse(_) | Expr::IsNotFalse(_) => true,
        Expr::InList { .. } | Expr::InSubquery { .. } | Expr::Between { .. } | Expr::Exists { .. } => true,
        Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } | Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => true,
        _ => false,
    }
}

fn is_arithmetic(operator: &BinaryOperator) -> bool {
    use BinaryOperator::{BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Minus, Modulo, Multiply, Plus, StringConcat};
    matches!(operator, Plus | Minus | Multiply | Divide | Modulo | StringConcat | BitwiseAnd | BitwiseOr | BitwiseXor)
}

/// Whether all words of an expression occur in the plan's text of it, where `INT` is `Int32`.
fn is_shown_as(text: &str, shown: &str) -> bool {
    let (text, shown) = (text.to_lowercase(), shown.to_lowercase());
    let without_digits = |word| str::trim_end_matches(word, |char: char| char.is_ascii_digit());
    // A set, because both may have very many words.
    let shown: HashSet<&str> = words(&shown).flat_map(|word| [word, without_digits(word)]).collect();
    words(&text).all(|word| shown.contains(word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// Searches for parts that can cause this error.
struct Search<'a> {
    wrong: &'a ErrorSpan<'a>,
    is_aggregate: &'a dyn Fn(&str) -> bool,
    candidates: Vec<SpanCandidate>,
}

impl Search<'_> {
    /// WHERE and QUALIFY, and HAVING if DataFusion treats it as a filter.
    fn in_filter(&mut self, filter: Option<&Expr>) {
        match (self.wrong, filter) {
            (ErrorSpan::Filter { .. }, Some(filter)) if !is_condition(filter) => self.candidates.push(filter.into()),
            (ErrorSpan::AggregateInWhere, Some(filter)) => {
                let mut inner = Aggregates { is_aggregate: self.is_aggregate, candidates: Vec::new(), depth: 0 };
                let _ = filter.walk(&mut inner);
                self.candidates.extend(inner.candidates);
            }
            _ => {}
        }
    }

    fn in_joins(&mut self, tables: &[TableWithJoins]) {
        if matches!(self.wrong, ErrorSpan::JoinCondition) {
            let conditions = tables.iter().flat_map(|table| &table.joins).filter_map(condition_of);
            self.candidates.extend(conditions.filter(|condition| !is_condition(condition)).map(SpanCandidate::from));
        }
    }
}

impl Visitor for Search<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.in_filter(select.selection.as_ref());
        if matches!(self.wrong, ErrorSpan::Filter { .. }) {
            self.in_filter(select.qualify.as_ref());
            self.in_filter(select.having.as_ref());
        }
        if matches!(self.wrong, ErrorSpan::Having) {
            self.candidates.extend(select.having.as_ref().map(SpanCandidate::from));
        }
        self.in_joins(&select.from);
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &SqlStatement) -> ControlFlow<()> {
        match statement {
            SqlStatement::Update(update) => self.in_filter(update.selection.as_ref()),
            SqlStatement::Delete(delete) => self.in_filter(delete.selection.as_ref()),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::BinaryOp { left, op, right } = expr else { return ControlFlow::Continue(()) };
        match self.wrong {
            ErrorSpan::Side { operator, left_is_condition } if is_operator(op, operator) => {
                let side = if *left_is_condition { right } else { left };
                self.candidates.extend((!is_condition(side)).then(|| SpanCandidate::from(side.as_ref())));
            }
            ErrorSpan::Comparison { operator } if is_operator(op, operator) => self.candidates.push(expr.into()),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_operator(operator: &BinaryOperator, shown: &str) -> bool {
    operator.to_string() == shown || shown == "!=" && *operator == BinaryOperator::NotEq
}

fn condition_of(join: &Join) -> Option<&Expr> {
    match constraint_of(&join.join_operator)? {
        JoinConstraint::On(condition) => Some(condition),
        _ => None,
    }
}

/// The aggregates of the expression itself, not those in its subqueries.
struct Aggregates<'a> {
    is_aggregate: &'a dyn Fn(&str) -> bool,
    candidates: Vec<SpanCandidate>,
    depth: usize,
}

impl Visitor for Aggregates<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(Function { name, over: None, .. }) = expr
            && self.depth == 0
            && (self.is_aggregate)(&name.to_string().to_lowercase())
        {
            self.candidates.push(expr.into());
        }
        ControlFlow::Continue(())
    }
}
