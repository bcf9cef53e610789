//! Values that are integers in memory, such as decimals and dates, in fewer bytes and back.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, make_array};
use arrow::compute::{max, min};
use arrow::datatypes::{
    DataType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;

use super::{integers, is_unsigned};

/// The bytes of a value that is an integer in memory; `None` for other types.
pub(super) fn integer_width(data_type: &DataType) -> Option<usize> {
    use DataType::*;
    match data_type {
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..)
        | Duration(_) | Decimal32(..) | Decimal64(..) | Decimal128(..) => data_type.primitive_width(),
        _ => None,
    }
}

/// Calls `$body` with the array `$array` as one of integers.
macro_rules! with_integers {
    ($array:ident => $body:expr) => {
        match $array.data_type() {
            DataType::Int8 => with_integers!(@ Int8Type, $array => $body),
            DataType::Int16 => with_integers!(@ Int16Type, $array => $body),
            DataType::Int32 => with_integers!(@ Int32Type, $array => $body),
            DataType::Int64 => with_integers!(@ Int64Type, $array => $body),
            DataType::UInt8 => with_integers!(@ UInt8Type, $array => $body),
            DataType::UInt16 => with_integers!(@ UInt16Type, $array => $body),
            DataType::UInt32 => with_integers!(@ UInt32Type, $array => $body),
            DataType::UInt64 => with_integers!(@ UInt64Type, $array => $body),
            DataType::Decimal128(..) => with_integers!(@ Decimal128Type, $array => $body),
            _ => None,
        }
    };
    (@ $type:ty, $array:ident => $body:expr) => {{
        let $array = $array.as_primitive::<$type>();
        $body
    }};
}

/// The least and the greatest value, 0 if there is none; `None` for a column of other values.
pub(super) fn range(column: &ArrayRef) -> Result<Option<(i128, i128)>, ArrowError> {
    let Some(array) = as_integers(column)? else { return Ok(None) };
    Ok(with_integers!(array => Some(range_of(array))))
}

fn range_of<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &PrimitiveArray<T>) -> (i128, i128) {
    match (min(array), max(array)) {
        (Some(least), Some(greatest)) => (least.into(), greatest.into()),
        _ => (0, 0),
    }
}

/// The column in integers of `width` bytes; `None` if a value does not fit.
pub(super) fn narrow(column: &ArrayRef, width: usize) -> Result<Option<ArrayRef>, ArrowError> {
    let to = integers(width, is_unsigned(column.data_type()));
    let Some(array) = as_integers(column)? else { return Ok(None) };
    Ok(with_integers!(array => match to {
        DataType::Int8 => narrow_to::<_, Int8Type>(array),
        DataType::Int16 => narrow_to::<_, Int16Type>(array),
        DataType::Int32 => narrow_to::<_, Int32Type>(array),
        DataType::Int64 => narrow_to::<_, Int64Type>(array),
        DataType::UInt8 => narrow_to::<_, UInt8Type>(array),
        DataType::UInt16 => narrow_to::<_, UInt16Type>(array),
        DataType::UInt32 => narrow_to::<_, UInt32Type>(array),
        _ => None,
    }))
}

fn narrow_to<S: ArrowPrimitiveType, D: ArrowPrimitiveType<Native: TryFrom<S::Native>>>(array: &PrimitiveArray<S>) -> Option<ArrayRef> {
    let fits = |value: Option<S::Native>| value.is_none_or(|value| D::Native::try_from(value).is_ok());
    if !fits(min(array)) || !fits(max(array)) {
        return None;
    }
    // Beneath a NULL there may be any value.
    let narrow: PrimitiveArray<D> = array.unary(|value| D::Native::try_from(value).unwrap_or_default());
    Some(Arc::new(narrow))
}

/// The integers as values of `to`, which has more bytes; `None` if it has not.
pub(super) fn widen(stored: &ArrayRef, to: &DataType) -> Result<Option<ArrayRef>, ArrowError> {
    let wide = match (stored.data_type(), integer_width(to)) {
        (DataType::Int8, Some(width @ 2..)) if !is_unsigned(to) => widen_signed(stored.as_primitive::<Int8Type>(), width),
        (DataType::Int16, Some(width @ 4..)) if !is_unsigned(to) => widen_signed(stored.as_primitive::<Int16Type>(), width),
        (DataType::Int32, Some(width @ 8..)) if !is_unsigned(to) => match width {
            8 => widen_to::<_, Int64Type>(stored.as_primitive::<Int32Type>()),
            _ => widen_to::<_, Decimal128Type>(stored.as_primitive::<Int32Type>()),
        },
        (DataType::Int64, Some(16)) => widen_to::<_, Decimal128Type>(stored.as_primitive::<Int64Type>()),
        (DataType::UInt8, Some(2)) if is_unsigned(to) => widen_to::<_, UInt16Type>(stored.as_primitive::<UInt8Type>()),
        (DataType::UInt8, Some(4)) if is_unsigned(to) => widen_to::<_, UInt32Type>(stored.as_primitive::<UInt8Type>()),
        (DataType::UInt8, Some(8)) if is_unsigned(to) => widen_to::<_, UInt64Type>(stored.as_primitive::<UInt8Type>()),
        (DataType::UInt16, Some(4)) if is_unsigned(to) => widen_to::<_, UInt32Type>(stored.as_primitive::<UInt16Type>()),
        (DataType::UInt16, Some(8)) if is_unsigned(to) => widen_to::<_, UInt64Type>(stored.as_primitive::<UInt16Type>()),
        (DataType::UInt32, Some(8)) if is_unsigned(to) => widen_to::<_, UInt64Type>(stored.as_primitive::<UInt32Type>()),
        _ => return Ok(None),
    };
    as_type(&wide, to).map(Some)
}

fn widen_signed<S: ArrowPrimitiveType>(array: &PrimitiveArray<S>, width: usize) -> ArrayRef
where
    S::Native: Into<i16> + Into<i32> + Into<i64> + Into<i128>,
{
    match width {
        2 => widen_to::<_, Int16Type>(array),
        4 => widen_to::<_, Int32Type>(array),
        8 => widen_to::<_, Int64Type>(array),
        _ => widen_to::<_, Decimal128Type>(array),
    }
}

fn widen_to<S: ArrowPrimitiveType<Native: Into<D::Native>>, D: ArrowPrimitiveType>(array: &PrimitiveArray<S>) -> ArrayRef {
    let wide: PrimitiveArray<D> = array.unary(|value| value.into());
    Arc::new(wide)
}

/// The same bytes as integers, those of 16 bytes as Decimal128; `None` if the values are none.
fn as_integers(column: &ArrayRef) -> Result<Option<ArrayRef>, ArrowError> {
    match integer_width(column.data_type()) {
        Some(16) => Ok(Some(Arc::clone(column))),
        Some(width) => as_type(column, &integers(width, is_unsigned(column.data_type()))).map(Some),
        None => Ok(None),
    }
}

/// The same bytes as values of a type of the same width.
fn as_type(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    Ok(make_array(array.to_data().into_builder().data_type(data_type.clone()).build()?))
}
