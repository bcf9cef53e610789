//! Frames of windows.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

/// RANGE without offsets means the peers of a row, as GROUPS does. DataFusion requires a type for offsets, which times of day, intervals,
/// structs and others do not have.
pub fn of_peers(params: &mut WindowFunctionParams, schema: &DFSchema) {
    let frame = &mut params.window_frame;
    let needs_type = [&frame.start_bound, &frame.end_bound].into_iter().any(has_offset);
    if frame.units != WindowFrameUnits::Range || needs_type {
        return;
    }
    let Some(Ok(key)) = params.order_by.first().map(|key| key.expr.get_type(schema)) else { return };
    if !takes_offsets(&key) {
        *frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, frame.start_bound.clone(), frame.end_bound.clone());
    }
}

fn has_offset(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => !offset.is_null(),
        WindowFrameBound::CurrentRow => false,
    }
}

fn takes_offsets(key: &DataType) -> bool {
    key.is_numeric()
        || key.is_string()
        || key.is_null()
        || matches!(key, DataType::Boolean | DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}
