//! Casts of timestamps: fewer digits are rounded as in PostgreSQL, where Arrow truncates; an instant becomes the local time in its zone,
//! where Arrow takes UTC; and a local time becomes an instant, which Arrow does not always find.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::error::ArrowError;
use arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::Result;

use common::type_names::declared_name;

/// The start of 2000 in seconds since 1970: a value half way between two timestamps is rounded away from it.
const MIDDLE: i64 = 946_684_800;
const NANOSECONDS: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Seconds since 1970, and nanoseconds after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub seconds: i64,
    pub nanoseconds: i64,
}

impl Moment {
    pub fn of(value: i64, unit: TimeUnit) -> Moment {
        let in_second = in_second(unit);
        Moment { seconds: value.div_euclid(in_second), nanoseconds: value.rem_euclid(in_second) * (NANOSECONDS / in_second) }
    }

    /// The instant at which clocks of the zone show this local time. As in PostgreSQL, a skipped time is read with the offset before the
    /// change, and an ambiguous time is the later one. `None` if it is out of range.
    pub fn on_clock_of(self, zone: Tz) -> Option<Moment> {
        let offset_s = |seconds| Some(clock_seconds(seconds, zone)? - seconds);
        // No zone is further than a day from UTC.
        let before = self.seconds - offset_s(self.seconds.checked_sub(SECONDS_PER_DAY)?)?;
        let after = self.seconds - offset_s(self.seconds.checked_add(SECONDS_PER_DAY)?)?;
        let seconds = if clock_seconds(after, zone)? == self.seconds { after } else { before };
        Some(Moment { seconds, ..self })
    }

    /// `None` if it is out of range.
    pub fn in_unit(self, unit: TimeUnit) -> Option<i64> {
        let step = NANOSECONDS / in_second(unit);
        let (whole, rest) = (self.nanoseconds / step, 2 * (self.nanoseconds % step));
        let is_up = if self.seconds >= MIDDLE { rest >= step && step > 1 } else { rest > step };
        let value = i128::from(self.seconds) * i128::from(in_second(unit)) + i128::from(whole) + i128::from(is_up);
        i64::try_from(value).ok()
    }
}

fn in_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOSECONDS,
    }
}

/// The local time in the zone at so many seconds since 1970, as seconds.
fn clock_seconds(seconds: i64, zone: Tz) -> Option<i64> {
    Some(as_datetime_with_timezone::<TimestampSecondType>(seconds, zone)?.naive_local().and_utc().timestamp())
}

/// Whether the cast drops digits or the zone, or adds a zone with clock changes.
pub fn is_moved(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, wanted)) if zone.is_some() || wanted.is_none() => {
            in_second(*to) < in_second(*from) || wanted.is_none() && zone.is_some()
        }
        (DataType::Timestamp(from, _), DataType::Timestamp(to, Some(wanted))) => in_second(*to) < in_second(*from) || !is_fixed(wanted),
        (DataType::Date32, DataType::Timestamp(_, Some(wanted))) => !is_fixed(wanted),
        _ => false,
    }
}

/// Whether the zone has a constant offset.
fn is_fixed(zone: &str) -> bool {
    zone == "UTC" || zone == "Z" || zone.starts_with(['+', '-'])
}

/// Casts dates and timestamps for which [`is_moved`] holds.
pub fn moved(array: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Date32 => from_unit::<TimestampSecondType>(&cast(array, &DataType::Timestamp(TimeUnit::Second, None))?, to, safe),
        DataType::Timestamp(TimeUnit::Second, _) => from_unit::<TimestampSecondType>(array, to, safe),
        DataType::Timestamp(TimeUnit::Millisecond, _) => from_unit::<TimestampMillisecondType>(array, to, safe),
        DataType::Timestamp(TimeUnit::Microsecond, _) => from_unit::<TimestampMicrosecondType>(array, to, safe),
        _ => from_unit::<TimestampNanosecondType>(array, to, safe),
    }
}

fn from_unit<T: ArrowTimestampType>(array: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let zones = match (array.data_type(), to) {
        (DataType::Timestamp(_, from), DataType::Timestamp(_, to)) => [from.as_deref(), to.as_deref()],
        _ => [None, None],
    };
    let [from, wanted] = zones.map(|zone| zone.map(str::parse::<Tz>).transpose());
    let (from, wanted) = (from?, wanted?);
    let moved = |value| {
        let moment = Moment::of(value, T::UNIT);
        match (from, wanted) {
            (Some(zone), None) => Some(Moment { seconds: clock_seconds(moment.seconds, zone)?, ..moment }),
            (None, Some(zone)) => moment.on_clock_of(zone),
            _ => Some(moment),
        }
    };
    let values = array.as_primitive::<T>();
    moments(values.iter().map(|value| value.map(|value| moved(value).ok_or_else(|| out_of_range(to)))), to, safe)
}

/// Moments as timestamps of the type.
pub fn moments(values: impl Iterator<Item = Option<Result<Moment, ArrowError>>>, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, zone) = to else { return Err(out_of_range(to).into()) };
    let value = |moment: Result<Moment, ArrowError>| moment.and_then(|moment| moment.in_unit(*unit).ok_or_else(|| out_of_range(to)));
    let values = values.map(|moment| match moment.map(&value) {
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(error)) if !safe => Err(error),
        _ => Ok(None),
    });
    let values = values.collect::<Result<Vec<Option<i64>>, ArrowError>>()?.into_iter();
    let zone = zone.clone();
    Ok(match unit {
        TimeUnit::Second => Arc::new(values.collect::<PrimitiveArray<TimestampSecondType>>().with_timezone_opt(zone)),
        TimeUnit::Millisecond => Arc::new(values.collect::<PrimitiveArray<TimestampMillisecondType>>().with_timezone_opt(zone)),
        TimeUnit::Microsecond => Arc::new(values.collect::<PrimitiveArray<TimestampMicrosecondType>>().with_timezone_opt(zone)),
        TimeUnit::Nanosecond => Arc::new(values.collect::<PrimitiveArray<TimestampNanosecondType>>().with_timezone_opt(zone)),
    })
}

pub fn out_of_range(to: &DataType) -> ArrowError {
    let range = match to {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => ", which is from 1677-09-21 to 2262-04-11: TIMESTAMP(6) has more years",
        _ => "",
    };
    ArrowError::CastError(format!("a timestamp is out of range for {}{range}", declared_name(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_unit_goes_away_from_2000() {
        let in_seconds = |millis: i64| Moment::of(millis, TimeUnit::Millisecond).in_unit(TimeUnit::Second);
        let start = MIDDLE * 1000;
        assert_eq!(in_seconds(start + 499), Some(MIDDLE));
        assert_eq!(in_seconds(start + 500), Some(MIDDLE + 1));
        assert_eq!(in_seconds(start - 500), Some(MIDDLE - 1));
        assert_eq!(in_seconds(start - 499), Some(MIDDLE));
        assert_eq!(in_seconds(-1), Some(0));
        assert_eq!(Moment::of(i64::MIN, TimeUnit::Nanosecond).in_unit(TimeUnit::Nanosecond), Some(i64::MIN));
        assert_eq!(Moment::of(i64::MAX, TimeUnit::Second).in_unit(TimeUnit::Nanosecond), None);
    }
}
