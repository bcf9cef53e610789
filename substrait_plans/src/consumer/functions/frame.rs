//! The frame of a window.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::scalar::ScalarValue;

use crate::error::PlanError;
use crate::proto::expression::window_function::bound::Kind;
use crate::proto::expression::window_function::{Bound, BoundsType};

/// The bounds as the plan has them.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'p> {
    pub kind: i32,
    pub lower: Option<&'p Bound>,
    pub upper: Option<&'p Bound>,
}

impl<'p> From<(i32, Option<&'p Bound>, Option<&'p Bound>)> for Bounds<'p> {
    fn from((kind, lower, upper): (i32, Option<&'p Bound>, Option<&'p Bound>)) -> Bounds<'p> {
        Bounds { kind, lower, upper }
    }
}

/// Rows, or values of the key, relative to the current row: negative before it. `None` means unbounded.
type Offset = Option<i64>;

/// Adds the sort key that a RANGE frame without one requires.
pub fn frame(bounds: &Bounds<'_>, order_by: &mut Vec<Sort>, schema: &DFSchema, place: &str) -> DfResult<WindowFrame> {
    let (lower, upper) = (offset(bounds.lower, place)?, offset(bounds.upper, place)?);
    if let (Some(lower), Some(upper)) = (lower, upper)
        && lower > upper
    {
        return Err(PlanError::invalid("a window that ends before it begins", place).into());
    }
    let units = units(bounds.kind, lower, upper, place)?;
    let key = match units {
        WindowFrameUnits::Range => key_type(lower, upper, order_by, schema, place)?,
        _ => DataType::UInt64,
    };
    let start = match lower {
        None => WindowFrameBound::Preceding(ScalarValue::try_from(&key)?),
        Some(offset) => bound(offset, &key)?,
    };
    let end = match upper {
        None => WindowFrameBound::Following(ScalarValue::try_from(&key)?),
        Some(offset) => bound(offset, &key)?,
    };
    let frame = WindowFrame::new_bounds(units, start, end);
    frame.regularize_order_bys(order_by)?;
    Ok(frame)
}

fn offset(bound: Option<&Bound>, place: &str) -> Result<Offset, PlanError> {
    let Some(bound) = bound else { return Ok(None) };
    let positive = |offset: i64| match offset {
        0.. => Ok(offset),
        _ => Err(PlanError::invalid(format!("a window with the bound {offset}"), place)),
    };
    match &bound.kind {
        Some(Kind::Preceding(preceding)) => Ok(Some(-positive(preceding.offset)?)),
        Some(Kind::Following(following)) => Ok(Some(positive(following.offset)?)),
        Some(Kind::CurrentRow(_)) => Ok(Some(0)),
        Some(Kind::Unbounded(_)) => Ok(None),
        None => Err(PlanError::missing("the kind of a bound", place)),
    }
}

/// Older versions had only one kind of bound, which counted rows. Producers that leave the kind out mean either, which matters unless the
/// frame is the whole partition.
fn units(kind: i32, lower: Offset, upper: Offset, place: &str) -> Result<WindowFrameUnits, PlanError> {
    match BoundsType::try_from(kind) {
        Ok(BoundsType::Rows) => Ok(WindowFrameUnits::Rows),
        Ok(BoundsType::Range) => Ok(WindowFrameUnits::Range),
        Ok(BoundsType::Unspecified) if lower.is_none() && upper.is_none() => Ok(WindowFrameUnits::Rows),
        Ok(BoundsType::Unspecified) => Err(PlanError::missing("whether the bounds of a window are of ROWS or of a RANGE", place)),
        Err(_) => Err(PlanError::invalid(format!("bounds of type {kind}"), place)),
    }
}

/// The offsets of a range are added to the key and must have its type. The library makes them unsigned 64-bit integers.
fn key_type(lower: Offset, upper: Offset, order_by: &[Sort], schema: &DFSchema, place: &str) -> DfResult<DataType> {
    let has_offset = |offset: Offset| offset.is_some_and(|offset| offset != 0);
    if !has_offset(lower) && !has_offset(upper) {
        return Ok(DataType::UInt64);
    }
    let [key] = order_by else {
        return Err(PlanError::invalid(format!("a range with {} keys, where one is needed", order_by.len()), place).into());
    };
    match key.expr.get_type(schema)? {
        key if key.is_integer() || matches!(key, DataType::Decimal128(..)) => Ok(key),
        other => Err(PlanError::unsupported(format!("a range of a number of {other}"), place).into()),
    }
}

fn bound(offset: i64, key: &DataType) -> DfResult<WindowFrameBound> {
    let number = |offset: i64| ScalarValue::Int64(Some(offset)).cast_to(key);
    Ok(match offset {
        0 => WindowFrameBound::CurrentRow,
        // The smallest number cannot be negated, and no table has that many rows.
        ..0 => WindowFrameBound::Preceding(number(offset.saturating_neg())?),
        _ => WindowFrameBound::Following(number(offset)?),
    })
}
