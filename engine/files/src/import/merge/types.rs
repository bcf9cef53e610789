//! The smallest type that can hold values of two types.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::import::conform::find_field;

const DECIMAL128_DIGITS: u8 = 38;
const DECIMAL256_DIGITS: u8 = 76;

/// `None`: there is no such type. Inferred types always have one: text.
pub(super) fn merged_type(a: &DataType, b: &DataType, are_inferred: bool) -> Option<DataType> {
    use DataType::{Date32, Float64, List, Null, Struct, Timestamp};
    let merged = match (a, b) {
        _ if a == b => Some(a.clone()),
        (Null, other) | (other, Null) => Some(other.clone()),
        (Struct(a), Struct(b)) => merged_fields(a, b, are_inferred).map(Struct),
        (List(a), List(b)) => merged_element(a, b, are_inferred).map(List),
        (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) => Some(Timestamp(*unit, None)),
        // Instants are the same in whatever zone they are shown.
        (Timestamp(a, zone), Timestamp(b, other)) if zone.is_some() == other.is_some() => Some(Timestamp(finer(*a, *b), zone.clone())),
        (a, b) if a.is_integer() && b.is_integer() => Some(merged_integers(a, b)),
        (a, b) if is_decimal(a) || is_decimal(b) => merged_decimals(a, b, are_inferred),
        (a, b) if a.is_numeric() && b.is_numeric() => Some(Float64),
        _ => None,
    };
    merged.or_else(|| are_inferred.then_some(DataType::Utf8View))
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let units = [Nanosecond, Microsecond, Millisecond, Second];
    units.into_iter().find(|unit| *unit == a || *unit == b).unwrap_or(a)
}

fn merged_fields(a: &Fields, b: &Fields, are_inferred: bool) -> Option<Fields> {
    let mut merged: Vec<FieldRef> = Vec::new();
    for field in a {
        merged.push(match find_field(b, field.name()) {
            Some(index) => {
                let other = &b[index];
                let data_type = merged_type(field.data_type(), other.data_type(), are_inferred)?;
                let is_nullable = field.is_nullable() || other.is_nullable();
                Arc::new(Field::new(field.name(), data_type, is_nullable))
            }
            None => Arc::new(field.as_ref().clone().with_nullable(true)),
        });
    }
    let only_in_b = b.iter().filter(|field| find_field(a, field.name()).is_none());
    merged.extend(only_in_b.map(|field| Arc::new(field.as_ref().clone().with_nullable(true))));
    Some(merged.into())
}

fn merged_element(a: &FieldRef, b: &FieldRef, are_inferred: bool) -> Option<FieldRef> {
    let data_type = merged_type(a.data_type(), b.data_type(), are_inferred)?;
    let is_nullable = a.is_nullable() || b.is_nullable();
    Some(Arc::new(Field::new(a.name(), data_type, is_nullable)))
}

fn merged_integers(a: &DataType, b: &DataType) -> DataType {
    use DataType::{Decimal128, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let bits = |t: &DataType| t.primitive_width().unwrap_or(8) * 8;
    if a.is_signed_integer() == b.is_signed_integer() {
        return if bits(a) >= bits(b) { a.clone() } else { b.clone() };
    }
    // An unsigned integer needs one more bit as a signed one.
    let signed_bits = |t: &DataType| if t.is_signed_integer() { bits(t) } else { bits(t) * 2 };
    match signed_bits(a).max(signed_bits(b)) {
        0..=8 => Int8,
        9..=16 => Int16,
        17..=32 => Int32,
        33..=64 => Int64,
        _ => {
            debug_assert!([UInt8, UInt16, UInt32, UInt64].contains(a) || a.is_signed_integer());
            Decimal128(20, 0)
        }
    }
}

fn is_decimal(data_type: &DataType) -> bool {
    digits(data_type).is_some() && !data_type.is_integer()
}

/// Digits before and after the point.
fn digits(data_type: &DataType) -> Option<(i16, i16)> {
    match data_type {
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) | DataType::Decimal256(p, s) => {
            Some((i16::from(*p) - i16::from(*s), i16::from(*s)))
        }
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        _ => None,
    }
}

fn merged_decimals(a: &DataType, b: &DataType, are_inferred: bool) -> Option<DataType> {
    if a.is_floating() || b.is_floating() {
        let other = if a.is_floating() { b } else { a };
        return other.is_numeric().then_some(DataType::Float64);
    }
    let ((left_whole, left_scale), (right_whole, right_scale)) = (digits(a)?, digits(b)?);
    let scale = left_scale.max(right_scale);
    let precision = left_whole.max(right_whole) + scale;
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
    match precision {
        0..=DECIMAL128_DIGITS => Some(DataType::Decimal128(precision, scale)),
        // DECIMAL(38,0) inferred from big integers is a guess; text is safer than a wider guess.
        39..=DECIMAL256_DIGITS if !are_inferred => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_widen_without_loss() {
        let merged = |a, b| merged_type(&a, &b, false);
        assert_eq!(merged(DataType::UInt32, DataType::Int32), Some(DataType::Int64));
        assert_eq!(merged(DataType::UInt64, DataType::Int8), Some(DataType::Decimal128(20, 0)));
        assert_eq!(merged(DataType::UInt8, DataType::Int64), Some(DataType::Int64));
        assert_eq!(merged(DataType::Int64, DataType::Float32), Some(DataType::Float64));
        let (short, long) = (DataType::Decimal128(10, 2), DataType::Decimal128(12, 4));
        assert_eq!(merged(short, long), Some(DataType::Decimal128(12, 4)));
        assert_eq!(merged(DataType::Int64, DataType::Utf8View), None);
        assert_eq!(merged(DataType::Boolean, DataType::Int64), None);
    }
}
