//! Values that have their own literal in Substrait.

use datafusion::scalar::ScalarValue;

use super::write::is_utc;
use crate::proto::expression::literal::interval_day_to_second::PrecisionMode;
use crate::proto::expression::literal::{
    Decimal, IntervalCompound, IntervalDayToSecond, IntervalYearToMonth, LiteralType, PrecisionTime, PrecisionTimestamp,
};

const NANOS: i64 = 1_000_000_000;

/// The literal of a value that is not NULL; `None` if its type has none.
pub fn plain(value: &ScalarValue) -> Option<LiteralType> {
    Some(match value {
        ScalarValue::Boolean(Some(value)) => LiteralType::Boolean(*value),
        ScalarValue::Int8(Some(number)) => LiteralType::I8((*number).into()),
        ScalarValue::Int16(Some(number)) => LiteralType::I16((*number).into()),
        ScalarValue::Int32(Some(number)) => LiteralType::I32(*number),
        ScalarValue::Int64(Some(number)) => LiteralType::I64(*number),
        ScalarValue::Float32(Some(number)) => LiteralType::Fp32(*number),
        ScalarValue::Float64(Some(number)) => LiteralType::Fp64(*number),
        ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            LiteralType::String(text.clone())
        }
        ScalarValue::Binary(Some(bytes)) | ScalarValue::LargeBinary(Some(bytes)) | ScalarValue::BinaryView(Some(bytes)) => {
            LiteralType::Binary(bytes.clone())
        }
        ScalarValue::FixedSizeBinary(_, Some(bytes)) => LiteralType::FixedBinary(bytes.clone()),
        ScalarValue::Date32(Some(days)) => LiteralType::Date(*days),
        ScalarValue::Time32Second(Some(value)) => time((*value).into(), 0),
        ScalarValue::Time32Millisecond(Some(value)) => time((*value).into(), 3),
        ScalarValue::Time64Microsecond(Some(value)) => time(*value, 6),
        ScalarValue::Time64Nanosecond(Some(value)) => time(*value, 9),
        ScalarValue::TimestampSecond(Some(value), zone) => timestamp(*value, 0, zone.as_deref())?,
        ScalarValue::TimestampMillisecond(Some(value), zone) => timestamp(*value, 3, zone.as_deref())?,
        ScalarValue::TimestampMicrosecond(Some(value), zone) => timestamp(*value, 6, zone.as_deref())?,
        ScalarValue::TimestampNanosecond(Some(value), zone) => timestamp(*value, 9, zone.as_deref())?,
        // Narrower decimals fit in 128 bits.
        ScalarValue::Decimal32(Some(value), precision, scale) => decimal((*value).into(), *precision, *scale)?,
        ScalarValue::Decimal64(Some(value), precision, scale) => decimal((*value).into(), *precision, *scale)?,
        ScalarValue::Decimal128(Some(value), precision, scale) => decimal(*value, *precision, *scale)?,
        ScalarValue::IntervalYearMonth(Some(months)) => LiteralType::IntervalYearToMonth(years(*months)),
        ScalarValue::IntervalDayTime(Some(interval)) => {
            let (seconds, millis) = (interval.milliseconds / 1_000, interval.milliseconds % 1_000);
            LiteralType::IntervalDayToSecond(days(interval.days, seconds, millis.into(), 3))
        }
        ScalarValue::IntervalMonthDayNano(Some(interval)) => LiteralType::IntervalCompound(IntervalCompound {
            interval_year_to_month: Some(years(interval.months)),
            interval_day_to_second: Some(days(
                interval.days,
                i32::try_from(interval.nanoseconds / NANOS).ok()?,
                interval.nanoseconds % NANOS,
                9,
            )),
        }),
        _ => return None,
    })
}

/// A decimal with `precision` digits, `scale` of them after the point.
pub fn decimal128(value: i128, precision: i32, scale: i8) -> LiteralType {
    LiteralType::Decimal(Decimal { value: value.to_le_bytes().to_vec(), precision, scale: scale.into() })
}

fn decimal(value: i128, precision: u8, scale: i8) -> Option<LiteralType> {
    let is_standard = scale >= 0 && scale.unsigned_abs() <= precision;
    is_standard.then(|| decimal128(value, precision.into(), scale))
}

fn time(value: i64, precision: i32) -> LiteralType {
    LiteralType::PrecisionTime(PrecisionTime { precision, value })
}

fn timestamp(value: i64, precision: i32, zone: Option<&str>) -> Option<LiteralType> {
    let instant = PrecisionTimestamp { precision, value };
    match zone {
        None => Some(LiteralType::PrecisionTimestamp(instant)),
        Some(zone) if is_utc(zone) => Some(LiteralType::PrecisionTimestampTz(instant)),
        Some(_) => None,
    }
}

fn years(months: i32) -> IntervalYearToMonth {
    IntervalYearToMonth { years: months / 12, months: months % 12 }
}

fn days(days: i32, seconds: i32, subseconds: i64, precision: i32) -> IntervalDayToSecond {
    IntervalDayToSecond { days, seconds, subseconds, precision_mode: Some(PrecisionMode::Precision(precision)) }
}
