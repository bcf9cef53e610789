//! Times and durations in statements: constants that are evaluated before planning.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use arrow::temporal_conversions::timestamp_ms_to_datetime;
use datafusion::common::{DFSchema, DataFusionError, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use common::error::EngineError;

/// The value of a constant expression.
pub fn constant(state: &SessionState, sql: &str) -> Result<ScalarValue, EngineError> {
    let refused = || {
        let message = format!("{sql} is not a constant");
        let hint = Some("write a literal, or compute it from now()".to_string());
        EngineError::Sql { message, position: None, hint }
    };
    let schema = Arc::new(DFSchema::empty());
    let expr = match state.create_logical_expr(sql, &schema) {
        // The expression contains a column.
        Err(error) if matches!(error.find_root(), DataFusionError::SchemaError(..)) => return Err(refused()),
        expr => expr?,
    };
    let context = SimplifyContext::builder().with_schema(Arc::clone(&schema));
    let context = context.with_config_options(Arc::clone(state.config().options())).with_current_time().build();
    let simplifier = ExprSimplifier::new(context);
    match simplifier.simplify(simplifier.coerce(expr, &schema)?)? {
        Expr::Literal(value, _) if !value.is_null() => Ok(value),
        _ => Err(refused()),
    }
}

/// Milliseconds since 1970. A time without a zone is in UTC, whatever the session's zone.
pub fn time_ms(state: &SessionState, sql: &str) -> Result<i64, EngineError> {
    let value = constant(state, sql)?;
    let wrong = || {
        let message = format!("{sql} is not a time");
        let hint = Some("write it as '2026-01-31 14:00:00', which is UTC, or with a zone as '2026-01-31 14:00:00+02:00'".to_string());
        EngineError::Sql { message, position: None, hint }
    };
    match value.data_type() {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {}
        _ => return Err(wrong()),
    }
    // A date means its first moment.
    let zone = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    match value.cast_to(&zone) {
        Ok(ScalarValue::TimestampMillisecond(Some(time_ms), _)) => Ok(time_ms),
        _ => Err(wrong()),
    }
}

/// The time in readable form.
pub fn time_text(time_ms: i64) -> String {
    timestamp_ms_to_datetime(time_ms).map_or_else(|| format!("{time_ms} ms"), |time| format!("{time} UTC"))
}
