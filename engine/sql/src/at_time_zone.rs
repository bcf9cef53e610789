//! Rewrites `x AT TIME ZONE zone` to the function call. DataFusion plans a cast, which converts an instant to an instant and accepts only
//! a literal as the zone.

use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use super::fragments::expr_of;
use common::error::EngineError;

/// Changes the expression in place if it has this form.
pub fn move_to_zone(expr: &mut Expr) -> Result<(), EngineError> {
    let Expr::AtTimeZone { timestamp, time_zone } = expr else { return Ok(()) };
    let mut call = expr_of("timezone(1, 2)").map_err(|error| EngineError::internal(error.to_string()))?;
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut call {
        for (argument, operand) in list.args.iter_mut().zip([time_zone, timestamp]) {
            let operand = std::mem::replace(operand.as_mut(), Expr::value(Value::Null));
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(operand));
        }
    }
    *expr = call;
    Ok(())
}
