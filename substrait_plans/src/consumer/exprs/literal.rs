//! Constants. A value that does not fit its type is refused: the library truncates small numbers, wraps intervals, reads a timestamp of
//! the old kind as seconds although it has microseconds, and aborts on a list of values of different types.

use std::fmt::Display;

use arrow::datatypes::{ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DataType, Float16Type, TimeUnit};
use datafusion::scalar::ScalarValue;

use super::{interval, nested_literal};
use crate::error::PlanError;
use crate::proto::Type;
use crate::proto::expression::Literal;
use crate::proto::expression::literal::user_defined::{TypeAnchorType, Val};
use crate::proto::expression::literal::{Decimal, LiteralType, PrecisionTime, PrecisionTimestamp, UserDefined};
use crate::proto::r#type::{self as types, Kind};
use crate::types::{Names, TypeReader, time_unit};

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// A constant. Its fields, if it has some, are named c0, c1, …
pub fn literal(reader: &TypeReader<'_>, of: &Literal, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    literal_named(reader, of, &mut Names::none(), place)
}

/// A constant whose fields get the next names.
#[expect(deprecated, reason = "constants of plans before 0.50")]
pub fn literal_named(reader: &TypeReader<'_>, of: &Literal, names: &mut Names<'_>, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let value = of.literal_type.as_ref().ok_or_else(|| PlanError::missing("the value of a constant", place))?;
    Ok(match value {
        LiteralType::Boolean(value) => ScalarValue::Boolean(Some(*value)),
        LiteralType::I8(number) => whole(reader, of, i64::from(*number), place)?,
        LiteralType::I16(number) => whole(reader, of, i64::from(*number), place)?,
        LiteralType::I32(number) => whole(reader, of, i64::from(*number), place)?,
        LiteralType::I64(number) => whole(reader, of, *number, place)?,
        LiteralType::Fp32(number) => ScalarValue::Float32(Some(*number)),
        LiteralType::Fp64(number) => ScalarValue::Float64(Some(*number)),
        // A fixedchar is not padded here, as no column is.
        LiteralType::String(text) | LiteralType::FixedChar(text) => ScalarValue::Utf8(Some(text.clone())),
        LiteralType::VarChar(text) => ScalarValue::Utf8(Some(text.value.clone())),
        LiteralType::Binary(bytes) => ScalarValue::Binary(Some(bytes.clone())),
        LiteralType::FixedBinary(bytes) => {
            let length = i32::try_from(bytes.len()).map_err(|_| PlanError::invalid("a constant of too many bytes", place))?;
            ScalarValue::FixedSizeBinary(length, Some(bytes.clone()))
        }
        LiteralType::Date(days) => ScalarValue::Date32(Some(*days)),
        LiteralType::Timestamp(micros) => ScalarValue::TimestampMicrosecond(Some(*micros), None),
        LiteralType::TimestampTz(micros) => ScalarValue::TimestampMicrosecond(Some(*micros), Some("UTC".into())),
        LiteralType::Time(micros) => time(TimeUnit::Microsecond, *micros, place)?,
        LiteralType::PrecisionTime(PrecisionTime { precision, value }) => time(time_unit(*precision, place)?, *value, place)?,
        LiteralType::PrecisionTimestamp(at) => timestamp(at, None, place)?,
        LiteralType::PrecisionTimestampTz(at) => timestamp(at, Some("UTC"), place)?,
        LiteralType::Decimal(written) => decimal(written, place)?,
        LiteralType::IntervalYearToMonth(written) => interval::years(written, place)?,
        LiteralType::IntervalDayToSecond(written) => interval::days(written, place)?,
        LiteralType::IntervalCompound(written) => interval::compound(written, place)?,
        LiteralType::Null(of) => null(&reader.named(of, names, place)?, place)?,
        LiteralType::List(list) => nested_literal::list(reader, &list.values, names, place)?,
        LiteralType::EmptyList(of) => nested_literal::empty_list(reader, of, names, place)?,
        LiteralType::Map(map) => nested_literal::map(reader, &map.key_values, names, place)?,
        LiteralType::EmptyMap(of) => nested_literal::empty_map(reader, of, names, place)?,
        LiteralType::Struct(of) => nested_literal::structure(reader, &of.fields, names, place)?,
        LiteralType::UserDefined(of) => user_defined(reader, of, place)?,
        LiteralType::Uuid(_) => return Err(PlanError::unsupported("a constant of the type uuid", place)),
    })
}

pub fn null(data_type: &DataType, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    ScalarValue::try_from(data_type).map_err(|_| PlanError::unsupported(format!("NULL of {data_type}"), place))
}

/// The kind of the literal decides the width of the number, and its variation the sign.
fn whole(reader: &TypeReader<'_>, of: &Literal, number: i64, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let type_variation_reference = of.type_variation_reference;
    let kind = match of.literal_type {
        Some(LiteralType::I8(_)) => Kind::I8(types::I8 { type_variation_reference, nullability: 0 }),
        Some(LiteralType::I16(_)) => Kind::I16(types::I16 { type_variation_reference, nullability: 0 }),
        Some(LiteralType::I32(_)) => Kind::I32(types::I32 { type_variation_reference, nullability: 0 }),
        _ => Kind::I64(types::I64 { type_variation_reference, nullability: 0 }),
    };
    let data_type = reader.data_type(&Type { kind: Some(kind) }, place)?;
    // Unsigned numbers are written with the same bits.
    let number = match data_type {
        DataType::UInt8 => ScalarValue::UInt8(u8::try_from(number).or_else(|_| i8::try_from(number).map(i8::cast_unsigned)).ok()),
        DataType::UInt16 => ScalarValue::UInt16(u16::try_from(number).or_else(|_| i16::try_from(number).map(i16::cast_unsigned)).ok()),
        DataType::UInt32 => ScalarValue::UInt32(u32::try_from(number).or_else(|_| i32::try_from(number).map(i32::cast_unsigned)).ok()),
        DataType::UInt64 => ScalarValue::UInt64(Some(number.cast_unsigned())),
        DataType::Int8 => ScalarValue::Int8(i8::try_from(number).ok()),
        DataType::Int16 => ScalarValue::Int16(i16::try_from(number).ok()),
        DataType::Int32 => ScalarValue::Int32(i32::try_from(number).ok()),
        DataType::Int64 => ScalarValue::Int64(Some(number)),
        other => return Err(PlanError::unsupported(format!("a constant of type {other} as a whole number"), place)),
    };
    match number.is_null() {
        true => Err(PlanError::invalid("a number that does not fit its type", place)),
        false => Ok(number),
    }
}

fn decimal(written: &Decimal, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let bytes = <[u8; 16]>::try_from(written.value.as_slice());
    let bytes = bytes.map_err(|_| PlanError::invalid(format!("a decimal of {} bytes, where it has 16", written.value.len()), place))?;
    let value = i128::from_le_bytes(bytes);
    let (precision, scale) = match (u8::try_from(written.precision), i8::try_from(written.scale)) {
        (Ok(precision @ 1..=DECIMAL128_MAX_PRECISION), Ok(scale)) if scale >= 0 && scale.unsigned_abs() <= precision => (precision, scale),
        _ => {
            let what = format!("a decimal with {} digits, {} of them after the point", written.precision, written.scale);
            return Err(PlanError::invalid(what, place));
        }
    };
    match value.unsigned_abs() < 10_u128.pow(precision.into()) {
        true => Ok(ScalarValue::Decimal128(Some(value), precision, scale)),
        false => Err(PlanError::invalid(format!("a decimal with more than its {precision} digits"), place)),
    }
}

/// A time of day, which must be less than a day.
fn time(unit: TimeUnit, value: i64, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let per_day = 86_400 * per_second(unit);
    if !(0..per_day).contains(&value) {
        return Err(PlanError::invalid(format!("{value} as a time of day"), place));
    }
    let small = i32::try_from(value).ok();
    Ok(match unit {
        TimeUnit::Second => ScalarValue::Time32Second(small),
        TimeUnit::Millisecond => ScalarValue::Time32Millisecond(small),
        TimeUnit::Microsecond => ScalarValue::Time64Microsecond(Some(value)),
        TimeUnit::Nanosecond => ScalarValue::Time64Nanosecond(Some(value)),
    })
}

pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn timestamp(at: &PrecisionTimestamp, zone: Option<&str>, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let (value, zone) = (Some(at.value), zone.map(Into::into));
    Ok(match time_unit(at.precision, place)? {
        TimeUnit::Second => ScalarValue::TimestampSecond(value, zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(value, zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(value, zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(value, zone),
    })
}

/// Arrow's forms of unsigned numbers, half floats and dates: a message with the number in one field.
fn user_defined(reader: &TypeReader<'_>, of: &UserDefined, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let anchor = match &of.type_anchor_type {
        Some(TypeAnchorType::TypeReference(anchor)) => *anchor,
        Some(TypeAnchorType::TypeAliasReference(_)) => return Err(PlanError::unsupported("an alias of a type", place)),
        None => 0,
    };
    let named = types::UserDefined {
        type_reference: anchor,
        type_variation_reference: 0,
        nullability: 0,
        type_parameters: of.type_parameters.clone(),
    };
    let data_type = reader.data_type(&Type { kind: Some(Kind::UserDefined(named)) }, place)?;
    let unsupported = || PlanError::unsupported(format!("a constant of type {data_type} that is written as one"), place);
    let Some(Val::Value(message)) = &of.val else { return Err(unsupported()) };
    let number = one_number(&message.value).ok_or_else(unsupported)?;
    let small = u16::try_from(number).ok();
    let value = match &data_type {
        DataType::UInt8 => ScalarValue::UInt8(u8::try_from(number).ok()),
        DataType::UInt16 => ScalarValue::UInt16(small),
        DataType::UInt32 => ScalarValue::UInt32(u32::try_from(number).ok()),
        DataType::UInt64 => ScalarValue::UInt64(Some(number)),
        DataType::Date64 => ScalarValue::Date64(Some(number.cast_signed())),
        DataType::Float16 => ScalarValue::Float16(small.map(Half::from_bits)),
        _ => return Err(unsupported()),
    };
    if value.is_null() { Err(PlanError::invalid("a number that does not fit its type", place)) } else { Ok(value) }
}

/// `google.protobuf.UInt64Value` and the like: the number in field 1; without it the message must be empty and means zero.
fn one_number(bytes: &[u8]) -> Option<u64> {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Wrapped {
        #[prost(uint64, tag = "1")]
        value: u64,
    }
    <Wrapped as prost::Message>::decode(bytes).ok().map(|wrapped| wrapped.value)
}
