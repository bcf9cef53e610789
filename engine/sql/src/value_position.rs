//! Finds the position of an evaluation error, which occurs at run time: it is that of the only division or cast in the text that can have
//! failed.

use std::ops::ControlFlow;

use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Spanned, Value, Visitor};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Location;

use super::locate::offset_of;
use super::sql_types::SqlTypes;
use crate::QuiverDialect;
use crate::walk::Walk;
use common::type_names::declared_name;

/// In longer texts no position is searched.
const TEXT_BYTES_MAX: usize = 64 << 10;

enum FailedValue<'a> {
    Division,
    /// A cast of an expression that is not a literal to a type of this name.
    Cast {
        wanted: &'a str,
    },
}

/// `None` if there are several candidates or none: a view has its own text.
pub fn position_of_evaluation(sql: &str, message: &str) -> Option<usize> {
    let wrong = match message.strip_prefix("Cannot cast string '") {
        Some(rest) => FailedValue::Cast { wanted: rest.rsplit_once("' to value of ")?.1.strip_suffix(" type")? },
        None if message == "Divide by zero error" => FailedValue::Division,
        None => return None,
    };
    if sql.len() > TEXT_BYTES_MAX {
        return None;
    }
    let statements = Parser::parse_sql(&QuiverDialect, sql).ok()?;
    let mut search = Search { wrong, found: Vec::new() };
    let _ = statements.walk(&mut search);
    let [start] = search.found.as_slice() else { return None };
    (start.line > 0).then(|| offset_of(sql, start.line, start.column))
}

struct Search<'a> {
    wrong: FailedValue<'a>,
    found: Vec<Location>,
}

impl Visitor for Search<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match (&self.wrong, expr) {
            (FailedValue::Division, Expr::BinaryOp { op: BinaryOperator::Divide | BinaryOperator::Modulo, right, .. })
                if !is_number(right) =>
            {
                self.found.push(right.span().start);
            }
            (FailedValue::Cast { wanted }, Expr::Cast { expr, data_type, .. }) if !matches!(expr.as_ref(), Expr::Value(_)) => {
                let data_type = SqlTypes.plan_type_field(data_type).ok().flatten();
                let is_it = data_type.is_some_and(|field| declared_name(field.data_type()) == *wanted);
                self.found.extend(is_it.then(|| expr.span().start));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A number other than zero.
fn is_number(expr: &Expr) -> bool {
    let Expr::Value(value) = expr else { return false };
    matches!(&value.value, Value::Number(digits, _) if digits.contains(|digit: char| ('1'..='9').contains(&digit)))
}
