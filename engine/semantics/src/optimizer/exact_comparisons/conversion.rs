//! Casts as functions on the whole numbers that represent dates, times, integers and decimals.

use arrow::array::timezone::Tz;
use arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow::temporal_conversions::as_datetime_with_timezone;

const SECONDS_PER_DAY: i128 = 86_400;

/// A monotonic cast.
#[derive(Debug)]
pub struct Conversion {
    step: Step,
    /// A local time becomes an instant of this zone.
    into_zone: Option<(TimeUnit, Tz)>,
    /// The range of the source type.
    from: (i128, i128),
    valid: ValidNumbers,
}

/// Which values a TRY_CAST does not turn into NULL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValidNumbers {
    All,
    /// Between the two, both included.
    Within(i128, i128),
    /// The invalid ones form no range: the clocks of a zone skip some hours and show others twice.
    Unordered,
}

#[derive(Debug)]
enum Step {
    /// Multiplied by this number.
    Finer(i128),
    /// Divided by this number; a half is rounded away from zero.
    Rounded(i128),
    /// Divided by this number and truncated toward zero.
    Truncated(i128),
}

impl Conversion {
    /// `None` if DataFusion removes the cast correctly or keeps it.
    pub fn of(from: &DataType, to: &DataType, is_try: bool) -> Option<Conversion> {
        let step = step(from, to)?;
        let (from_range, to_range) = (range(from)?, range(to)?);
        let into_zone = match (from, to) {
            (DataType::Timestamp(_, None), DataType::Timestamp(unit, Some(zone))) if !is_utc(zone) => Some((*unit, zone.parse().ok()?)),
            _ => None,
        };
        let valid = (step.least(to_range.0).max(from_range.0), step.greatest(to_range.1).min(from_range.1));
        let valid = match is_try {
            true if into_zone.is_some() => ValidNumbers::Unordered,
            true if valid != from_range => ValidNumbers::Within(valid.0, valid.1),
            _ => ValidNumbers::All,
        };
        let loses = match step {
            Step::Finer(1) => into_zone.is_some(),
            // For numbers, DataFusion does not rewrite a constant that does not fit the column.
            Step::Finer(_) => to.is_temporal(),
            Step::Rounded(_) | Step::Truncated(_) => true,
        };
        (loses || valid != ValidNumbers::All).then_some(Conversion { step, into_zone, from: from_range, valid })
    }

    /// The least value of the column that becomes `value` or more, and the greatest that becomes `value` or less. If the first is greater
    /// than the second, no value becomes `value`. `None` if the zone has no such time.
    pub fn inverse(&self, value: i128) -> Option<(i128, i128)> {
        let value = match &self.into_zone {
            Some((unit, zone)) => local(value, *unit, *zone)?,
            None => value,
        };
        Some((self.step.least(value), self.step.greatest(value)))
    }

    pub fn least(&self) -> i128 {
        self.from.0
    }

    pub fn greatest(&self) -> i128 {
        self.from.1
    }

    pub fn valid(&self) -> ValidNumbers {
        self.valid
    }
}

impl Step {
    fn least(&self, value: i128) -> i128 {
        match *self {
            Step::Finer(factor) => value.div_euclid(factor) + i128::from(value.rem_euclid(factor) != 0),
            Step::Rounded(divisor) => value.saturating_mul(divisor).saturating_sub(divisor / 2 - i128::from(value <= 0)),
            Step::Truncated(divisor) => value.saturating_mul(divisor).saturating_sub(if value <= 0 { divisor - 1 } else { 0 }),
        }
    }

    fn greatest(&self, value: i128) -> i128 {
        match *self {
            Step::Finer(factor) => value.div_euclid(factor),
            Step::Rounded(divisor) => value.saturating_mul(divisor).saturating_add(divisor / 2 - i128::from(value >= 0)),
            Step::Truncated(divisor) => value.saturating_mul(divisor).saturating_add(if value >= 0 { divisor - 1 } else { 0 }),
        }
    }
}

fn step(from: &DataType, to: &DataType) -> Option<Step> {
    match (from, to) {
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => {
            let (from, to) = (per_second(*from), per_second(*to));
            (to >= from).then(|| Step::Finer(to / from))
        }
        (DataType::Date32, DataType::Timestamp(to, None)) => Some(Step::Finer(SECONDS_PER_DAY * per_second(*to))),
        // Types that count whole units, such as seconds or days.
        (DataType::Timestamp(..) | DataType::Date32, to) => Some(Step::Finer(10_i128.pow(scale(to)?))),
        (from, DataType::Timestamp(..) | DataType::Date32) => from.is_integer().then_some(Step::Finer(1)),
        _ => {
            let (from_scale, to_scale) = (scale(from)?, scale(to)?);
            let factor = 10_i128.pow(from_scale.abs_diff(to_scale));
            Some(match to_scale >= from_scale {
                true => Step::Finer(factor),
                false if to.is_integer() => Step::Truncated(factor),
                false => Step::Rounded(factor),
            })
        }
    }
}

fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The scale of numbers whose casts DataFusion removes.
fn scale(data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => u32::try_from(*scale).ok(),
        data_type => data_type.is_integer().then_some(0),
    }
}

fn range(data_type: &DataType) -> Option<(i128, i128)> {
    use DataType::*;
    Some(match data_type {
        Int8 => (i8::MIN.into(), i8::MAX.into()),
        Int16 => (i16::MIN.into(), i16::MAX.into()),
        Int32 | Date32 => (i32::MIN.into(), i32::MAX.into()),
        Int64 | Timestamp(..) => (i64::MIN.into(), i64::MAX.into()),
        UInt8 => (0, u8::MAX.into()),
        UInt16 => (0, u16::MAX.into()),
        UInt32 => (0, u32::MAX.into()),
        UInt64 => (0, u64::MAX.into()),
        Decimal32(precision, _) | Decimal64(precision, _) | Decimal128(precision, _) => {
            let greatest = 10_i128.pow(u32::from(*precision)) - 1;
            (-greatest, greatest)
        }
        _ => return None,
    })
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00" | "Z")
}

/// The local time in the zone. Arrow rejects a time that clocks skip or show twice, so all others keep their order.
fn local(value: i128, unit: TimeUnit, zone: Tz) -> Option<i128> {
    let value = i64::try_from(value).ok()?;
    let time = match unit {
        TimeUnit::Second => as_datetime_with_timezone::<TimestampSecondType>(value, zone),
        TimeUnit::Millisecond => as_datetime_with_timezone::<TimestampMillisecondType>(value, zone),
        TimeUnit::Microsecond => as_datetime_with_timezone::<TimestampMicrosecondType>(value, zone),
        TimeUnit::Nanosecond => as_datetime_with_timezone::<TimestampNanosecondType>(value, zone),
    }?;
    let offset_s = time.naive_local().and_utc().timestamp() - time.naive_utc().and_utc().timestamp();
    Some(i128::from(value) + i128::from(offset_s) * per_second(unit))
}
