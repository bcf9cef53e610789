//! Frames of windows.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

use common::error::EngineError;
use common::type_names::declared_name;

/// RANGE without offsets means the peers of a row, as GROUPS does. DataFusion requires a type for offsets, which times of day, intervals,
/// structs and others do not have. It also takes offsets with texts, booleans and lists, from which nothing can be subtracted; they are
/// refused, as in PostgreSQL.
pub fn of_peers(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<()> {
    let frame = &mut params.window_frame;
    let Some(Ok(key)) = params.order_by.first().map(|key| key.expr.get_type(schema)) else { return Ok(()) };
    if frame.units != WindowFrameUnits::Range || takes_offsets(&key) {
        return Ok(());
    }
    if [&frame.start_bound, &frame.end_bound].into_iter().any(has_offset) {
        let message = format!("RANGE with an offset orders by a number, a date or a timestamp, and not by {}", declared_name(&key));
        let hint = Some("ROWS counts rows and GROUPS counts different keys, of any type".to_string());
        return Err(EngineError::Sql { message, position: None, hint }.into_datafusion());
    }
    if !has_frames(&key) {
        *frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, frame.start_bound.clone(), frame.end_bound.clone());
    }
    Ok(())
}

fn has_offset(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => !offset.is_null(),
        WindowFrameBound::CurrentRow => false,
    }
}

fn takes_offsets(key: &DataType) -> bool {
    key.is_numeric() || matches!(key, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

/// Whether DataFusion has a type for the frame of such a key.
fn has_frames(key: &DataType) -> bool {
    key.is_string() || key.is_null() || matches!(key, DataType::Boolean)
}
