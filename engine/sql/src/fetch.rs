//! Rewrites `FETCH FIRST 3 ROWS ONLY` to LIMIT 3.

use datafusion::sql::sqlparser::ast::{Expr, Fetch, LimitClause, Query, Value};

use common::error::EngineError;

pub fn rewrite_fetch(query: &mut Query) -> Result<(), EngineError> {
    let Some(Fetch { with_ties: false, percent: false, quantity }) = query.fetch.take() else { return Ok(()) };
    let rows = quantity.unwrap_or_else(|| Expr::value(Value::Number("1".into(), false)));
    match &mut query.limit_clause {
        None => query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(rows), offset: None, limit_by: Vec::new() }),
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(rows),
        Some(_) => return Err(EngineError::unsupported("LIMIT and FETCH of one query", Some("leave one of them out"))),
    }
    Ok(())
}
