//! Frames of windows.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, cast};

use common::error::EngineError;
use common::type_names::declared_name;

/// DataFusion adds an offset to the number of a row; the sum of this one and any number of rows fits.
const ROWS_MAX: u64 = 1 << 62;

pub fn bounded(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<()> {
    let frame = &mut params.window_frame;
    if frame.units == WindowFrameUnits::Range {
        return of_range(params, schema);
    }
    for offset in [&mut frame.start_bound, &mut frame.end_bound].into_iter().filter_map(offset) {
        if let ScalarValue::UInt64(Some(rows)) = offset {
            *rows = (*rows).min(ROWS_MAX);
        }
    }
    Ok(())
}

/// RANGE without offsets means the peers of a row, as GROUPS does. DataFusion requires a type for offsets, which times of day, intervals,
/// structs and others do not have. It also takes offsets with texts, booleans and lists, from which nothing can be subtracted; they are
/// refused, as in PostgreSQL.
fn of_range(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<()> {
    let frame = &mut params.window_frame;
    let Some(Ok(key)) = params.order_by.first().map(|key| key.expr.get_type(schema)) else { return Ok(()) };
    let mut offsets: Vec<&mut ScalarValue> = [&mut frame.start_bound, &mut frame.end_bound].into_iter().filter_map(offset).collect();
    if !takes_offsets(&key) {
        if !offsets.is_empty() {
            let message = format!("RANGE with an offset orders by a number, a date or a timestamp, and not by {}", declared_name(&key));
            return Err(refused(message, "ROWS counts rows and GROUPS counts different keys, of any type"));
        }
        if !has_frames(&key) {
            *frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, frame.start_bound.clone(), frame.end_bound.clone());
        }
    } else if (key.is_integer() || matches!(key, DataType::Decimal128(..))) && !offsets.is_empty() {
        widen(&mut params.order_by[0].expr, &key, &mut offsets)?;
    }
    Ok(())
}

/// DataFusion takes a frame that ends beyond the range of its key's type as one without an end, and so has NULLs in it. A wider type has
/// the ends of all frames, and the fractions of their offsets.
fn widen(key: &mut Expr, data_type: &DataType, offsets: &mut [&mut ScalarValue]) -> Result<()> {
    // A plan of another node, or one that comes here again.
    let is_typed = |offset: &&mut ScalarValue| !matches!(offset, ScalarValue::Utf8(_));
    if matches!(data_type, DataType::Decimal128(..)) && offsets.iter().all(is_typed) {
        return Ok(());
    }
    let of_key = if let DataType::Decimal128(_, scale) = data_type { usize::try_from(*scale).unwrap_or(0) } else { 0 };
    let (mut digits, mut scale) = (0, of_key);
    for offset in offsets.iter_mut() {
        let text = offset.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let is_number = !text.starts_with('.') && [whole, fraction].iter().all(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_number || text.is_empty() {
            let message = format!(
                "RANGE that orders by {} takes a number that is not negative as its offset, and not '{text}'",
                declared_name(data_type)
            );
            return Err(refused(message, "order by a date or a timestamp to use an interval"));
        }
        digits = digits.max(text.len());
        scale = scale.max(fraction.len());
        **offset = ScalarValue::from(text);
    }
    // With at most 18 digits, the sum of an offset and a key of 32 bits is a BIGINT.
    let is_short = data_type.is_integer() && data_type.primitive_width().is_some_and(|bytes| bytes < 8) && digits <= 18 && scale == 0;
    let wide = if is_short {
        DataType::Int64
    } else {
        DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale.min(usize::from(DECIMAL128_MAX_PRECISION)) as i8)
    };
    *key = cast(std::mem::take(key), wide);
    Ok(())
}

fn refused(message: String, hint: &str) -> DataFusionError {
    EngineError::Sql { message, position: None, hint: Some(hint.to_string()) }.into_datafusion()
}

fn offset(bound: &mut WindowFrameBound) -> Option<&mut ScalarValue> {
    match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => Some(offset).filter(|offset| !offset.is_null()),
        WindowFrameBound::CurrentRow => None,
    }
}

fn takes_offsets(key: &DataType) -> bool {
    key.is_numeric() || matches!(key, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

/// Whether DataFusion has a type for the frame of such a key.
fn has_frames(key: &DataType) -> bool {
    key.is_string() || key.is_null() || matches!(key, DataType::Boolean)
}
