//! The first sort key of rows as integers, whose order is that of the rows. Different values may have the same integer.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{
    ArrowPrimitiveType, ByteArrayType, DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float32Type, Float64Type,
    GenericBinaryType, GenericStringType, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::{Result, internal_err};

/// NULL has the integer below or above all values, so the least and the greatest ones each have that of their neighbour.
const VALUE_MIN: u64 = 1;
const VALUE_MAX: u64 = u64::MAX - 1;
const SIGN: u64 = 1 << 63;

/// Whether rows of this type have keys.
pub fn has_keys(data_type: &DataType) -> bool {
    is_exact_type(data_type)
        || matches!(
            data_type,
            DataType::Float32
                | DataType::Float64
                | DataType::Decimal128(..)
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
        )
}

/// Whether values of this type with the same key are equal, see [`is_exact`].
pub fn is_exact_type(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Duration(_))
        || data_type.is_integer()
        || data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
}

/// Whether rows with this key have equal values, where their type is an exact one.
pub fn is_exact(key: u64) -> bool {
    key != VALUE_MIN && key != VALUE_MAX
}

/// A key for each row: the lower one comes first.
pub fn keys(array: &ArrayRef, options: SortOptions, keys: &mut Vec<u64>) -> Result<()> {
    keys.clear();
    match array.data_type() {
        DataType::Int8 => signed::<Int8Type>(array, keys),
        DataType::Int16 => signed::<Int16Type>(array, keys),
        DataType::Int32 => signed::<Int32Type>(array, keys),
        DataType::Int64 => signed::<Int64Type>(array, keys),
        DataType::UInt8 => of_values::<UInt8Type>(array, keys, u64::from),
        DataType::UInt16 => of_values::<UInt16Type>(array, keys, u64::from),
        DataType::UInt32 => of_values::<UInt32Type>(array, keys, u64::from),
        DataType::UInt64 => of_values::<UInt64Type>(array, keys, |value| value),
        DataType::Float32 => of_values::<Float32Type>(array, keys, |value| of_float(value == 0.0, u64::from(value.to_bits()) << 32)),
        DataType::Float64 => of_values::<Float64Type>(array, keys, |value| of_float(value == 0.0, value.to_bits())),
        DataType::Decimal32(..) => signed::<Decimal32Type>(array, keys),
        DataType::Decimal64(..) => signed::<Decimal64Type>(array, keys),
        DataType::Decimal128(..) => of_values::<Decimal128Type>(array, keys, |value| {
            of_integer(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX }))
        }),
        DataType::Date32 => signed::<Date32Type>(array, keys),
        DataType::Date64 => signed::<Date64Type>(array, keys),
        DataType::Time32(TimeUnit::Second) => signed::<Time32SecondType>(array, keys),
        DataType::Time32(_) => signed::<Time32MillisecondType>(array, keys),
        DataType::Time64(TimeUnit::Microsecond) => signed::<Time64MicrosecondType>(array, keys),
        DataType::Time64(_) => signed::<Time64NanosecondType>(array, keys),
        DataType::Timestamp(TimeUnit::Second, _) => signed::<TimestampSecondType>(array, keys),
        DataType::Timestamp(TimeUnit::Millisecond, _) => signed::<TimestampMillisecondType>(array, keys),
        DataType::Timestamp(TimeUnit::Microsecond, _) => signed::<TimestampMicrosecondType>(array, keys),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => signed::<TimestampNanosecondType>(array, keys),
        DataType::Duration(TimeUnit::Second) => signed::<DurationSecondType>(array, keys),
        DataType::Duration(TimeUnit::Millisecond) => signed::<DurationMillisecondType>(array, keys),
        DataType::Duration(TimeUnit::Microsecond) => signed::<DurationMicrosecondType>(array, keys),
        DataType::Duration(TimeUnit::Nanosecond) => signed::<DurationNanosecondType>(array, keys),
        DataType::Utf8 => of_bytes::<GenericStringType<i32>>(array, keys),
        DataType::LargeUtf8 => of_bytes::<GenericStringType<i64>>(array, keys),
        DataType::Binary => of_bytes::<GenericBinaryType<i32>>(array, keys),
        DataType::LargeBinary => of_bytes::<GenericBinaryType<i64>>(array, keys),
        DataType::Utf8View => {
            let values = array.as_string_view();
            keys.extend((0..values.len()).map(|row| if values.is_null(row) { 0 } else { of_prefix(values.value(row).as_bytes()) }));
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            keys.extend((0..values.len()).map(|row| if values.is_null(row) { 0 } else { of_prefix(values.value(row)) }));
        }
        other => return internal_err!("rows have no keys by {other}"),
    }
    let flip = if options.descending { u64::MAX } else { 0 };
    keys.iter_mut().for_each(|key| *key = (*key ^ flip).clamp(VALUE_MIN, VALUE_MAX));
    if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        let null = if options.nulls_first { 0 } else { u64::MAX };
        keys.iter_mut().zip(nulls.iter()).filter(|(_, is_valid)| !is_valid).for_each(|(key, _)| *key = null);
    }
    Ok(())
}

/// The value under a NULL is any, and is replaced later.
fn of_values<T: ArrowPrimitiveType>(array: &ArrayRef, keys: &mut Vec<u64>, key: impl Fn(T::Native) -> u64) {
    let values: &PrimitiveArray<T> = array.as_primitive();
    keys.extend(values.values().iter().map(|value| key(*value)));
}

fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, keys: &mut Vec<u64>) {
    of_values::<T>(array, keys, |value| of_integer(value.into()));
}

fn of_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// The order of IEEE 754, in which sorts have floats, but with one zero.
fn of_float(is_zero: bool, bits: u64) -> u64 {
    match bits & SIGN {
        _ if is_zero => SIGN,
        0 => bits | SIGN,
        _ => !bits,
    }
}

fn of_bytes<T: ByteArrayType>(array: &ArrayRef, keys: &mut Vec<u64>) {
    let values = array.as_bytes::<T>();
    keys.extend((0..values.len()).map(|row| if values.is_null(row) { 0 } else { of_prefix(values.value(row).as_ref()) }));
}

/// The first eight bytes; a shorter text comes before those that it begins.
fn of_prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Float64Array, Int64Array, StringViewArray, UInt64Array};
    use arrow::compute::sort_to_indices;

    use super::*;

    #[test]
    fn keys_never_contradict_the_order_of_rows() {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![
                Some(i64::MAX),
                None,
                Some(-1),
                Some(i64::MIN),
                Some(0),
                Some(i64::MIN + 1),
                Some(i64::MAX - 1),
            ])),
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0), Some(1), Some(u64::MAX - 1)])),
            Arc::new(Float64Array::from(vec![
                Some(f64::NAN),
                Some(-f64::NAN),
                None,
                Some(-0.0),
                Some(0.0),
                Some(f64::NEG_INFINITY),
                Some(f64::INFINITY),
                Some(-1.5),
                Some(f64::MIN_POSITIVE),
            ])),
            Arc::new(Decimal128Array::from(vec![
                Some(i128::MAX),
                None,
                Some(i128::MIN),
                Some(0),
                Some(-5),
                Some(i128::from(i64::MAX) + 1),
            ])),
            Arc::new(StringViewArray::from(vec![
                Some("b"),
                None,
                Some(""),
                Some("abcdefgh1"),
                Some("abcdefgh"),
                Some("a\0"),
                Some("a"),
                Some("ä"),
            ])),
        ];
        for array in arrays {
            for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
                let options = SortOptions { descending, nulls_first };
                let mut found = Vec::new();
                keys(&array, options, &mut found).unwrap();
                let sorted = sort_to_indices(&array, Some(options), None).unwrap();
                let ordered: Vec<u64> = sorted.values().iter().map(|row| found[*row as usize]).collect();
                assert!(ordered.is_sorted(), "{options:?} of {array:?}: {ordered:?}");
                assert!(ordered.first() < ordered.last());
            }
        }
    }

    #[test]
    fn only_equal_values_have_the_same_exact_key() {
        let array: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MIN + 1), Some(i64::MAX), Some(i64::MAX - 1), None, Some(7)]));
        for descending in [false, true] {
            let mut found = Vec::new();
            keys(&array, SortOptions { descending, nulls_first: descending }, &mut found).unwrap();
            let mut exact: Vec<u64> = found.into_iter().filter(|key| is_exact(*key)).collect();
            let count = exact.len();
            exact.sort_unstable();
            exact.dedup();
            assert_eq!(exact.len(), count);
        }
    }
}
