//! `array_region('a', '[0:64]')` as an expression becomes a subquery: the tensor is read as a table function reads it.

use datafusion::sql::sqlparser::ast::Expr;

use crate::fragments::query_of;
use common::error::EngineError;

const FUNCTION: &str = "array_region";

pub fn select_region(expr: &mut Expr) -> Result<(), EngineError> {
    let Expr::Function(call) = &*expr else { return Ok(()) };
    if !call.name.to_string().eq_ignore_ascii_case(FUNCTION) {
        return Ok(());
    }
    let query = query_of(&format!("SELECT region FROM {call}")).map_err(|error| EngineError::internal(error.to_string()))?;
    *expr = Expr::Subquery(Box::new(query));
    Ok(())
}
