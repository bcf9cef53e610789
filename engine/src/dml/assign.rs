//! `SET a = 1, (b, c) = (2, 3)`.

use datafusion::sql::sqlparser::ast::{Assignment, AssignmentTarget, Expr, ObjectName};

use super::plan::Value;
use super::select::Finder;
use super::target::ChangeTarget;
use crate::execution::StatementContext;
use common::error::EngineError;

/// Resolves assignments to columns of the target and their new values.
pub fn assigned(
    ctx: &StatementContext,
    target: &ChangeTarget,
    finder: &mut Finder,
    assignments: Vec<Assignment>,
) -> Result<Vec<Value>, EngineError> {
    let mut values = vec![Value::Kept; target.schema().fields().len()];
    for Assignment { target: assigned, value } in assignments {
        for (name, expr) in pairs(assigned, value)? {
            let column = target.column(ctx, &name)?;
            if values[column] != Value::Kept {
                let message = format!("column \"{}\" is assigned twice", target.schema().field(column).name());
                return Err(EngineError::Sql { message, position: None, hint: Some("leave one of the two out".into()) });
            }
            values[column] = value_of(finder, expr);
        }
    }
    Ok(values)
}

fn pairs(target: AssignmentTarget, value: Expr) -> Result<Vec<(ObjectName, Expr)>, EngineError> {
    let names = match target {
        AssignmentTarget::ColumnName(name) => return Ok(vec![(name, value)]),
        AssignmentTarget::Tuple(names) => names,
    };
    match value {
        Expr::Tuple(values) if values.len() == names.len() => Ok(names.into_iter().zip(values).collect()),
        Expr::Nested(value) if names.len() == 1 => Ok(names.into_iter().map(|name| (name, value.as_ref().clone())).collect()),
        Expr::Tuple(values) => {
            let message = format!("{} columns are assigned {} values", names.len(), values.len());
            Err(EngineError::Sql { message, position: None, hint: Some("give each column one value".into()) })
        }
        _ => Err(EngineError::unsupported("a list of columns set to what is not a list", Some("assign each column by itself"))),
    }
}

/// An expression, or the keyword DEFAULT.
pub fn value_of(finder: &mut Finder, expr: Expr) -> Value {
    if is_default(&expr) { Value::Default } else { Value::Item(finder.item(expr)) }
}

pub fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
