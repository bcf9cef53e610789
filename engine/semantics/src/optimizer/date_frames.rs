//! `RANGE BETWEEN INTERVAL '1 day' PRECEDING AND INTERVAL '1 hour' PRECEDING` of dates.
//!
//! DataFusion subtracts an hour from a date and gets the same date, so the frame has the rows of the whole day. Here a date is its first
//! moment, as in PostgreSQL.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrameBound, WindowFrameUnits, cast};

use crate::functions::map_under_names;

/// Runs once the types are known.
pub fn date_frames(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|part| {
        let LogicalPlan::Window(window) = &part else { return Ok(Transformed::no(part)) };
        let schema = window.input.schema().clone();
        map_under_names(part, |expr| expr.transform_up(|part| of_moments(part, &schema)))
    })
    .data()
}

fn of_moments(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::WindowFunction(mut function) if is_of_times(&function, schema)? => {
            let key = &mut function.params.order_by[0];
            key.expr = cast(key.expr.clone(), DataType::Timestamp(TimeUnit::Microsecond, None));
            Ok(Transformed::yes(Expr::WindowFunction(function)))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

fn is_of_times(function: &WindowFunction, schema: &DFSchema) -> Result<bool> {
    let (frame, [key]) = (&function.params.window_frame, function.params.order_by.as_slice()) else { return Ok(false) };
    let has_time = frame.units == WindowFrameUnits::Range && (is_time(&frame.start_bound) || is_time(&frame.end_bound));
    Ok(has_time && matches!(key.expr.get_type(schema)?, DataType::Date32 | DataType::Date64))
}

fn is_time(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(ScalarValue::IntervalMonthDayNano(Some(step)))
        | WindowFrameBound::Following(ScalarValue::IntervalMonthDayNano(Some(step))) => step.nanoseconds != 0,
        _ => false,
    }
}
