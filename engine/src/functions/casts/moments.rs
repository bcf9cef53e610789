//! Timestamps with fewer digits, which are rounded as in PostgreSQL where Arrow cuts them off; and instants as the time on a clock
//! in their zone, where Arrow takes one in Greenwich.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::compute::kernels::cast_utils::string_to_datetime;
use arrow::error::ArrowError;
use arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::Result;

use crate::sql::declared_name;

/// The start of 2000 in seconds since 1970: what is half way between two timestamps becomes the one that is farther from it.
const MIDDLE: i64 = 946_684_800;
const NANOSECONDS: i64 = 1_000_000_000;

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

    /// The instant at which clocks of the zone show what this one is since 1970.
    pub fn on_clock_of(self, zone: &Tz) -> Result<Moment, ArrowError> {
        let clock = as_datetime_with_timezone::<TimestampSecondType>(self.seconds, "UTC".parse()?);
        let text = clock.map(|clock| clock.naive_local().to_string()).ok_or_else(|| ArrowError::CastError("a timestamp is out of range".to_string()))?;
        Ok(Moment { seconds: string_to_datetime(zone, &text)?.timestamp(), ..self })
    }

    /// None if it is out of range.
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

/// Whether digits or the zone are lost.
pub fn is_coarser(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, wanted)) => {
            in_second(*to) < in_second(*from) || zone.is_some() && wanted.is_none()
        }
        _ => false,
    }
}

/// Timestamps as others for which [`is_coarser`], but that a zone is not given to those that have none.
pub fn coarser(array: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => from_unit::<TimestampSecondType>(array, to, safe),
        DataType::Timestamp(TimeUnit::Millisecond, _) => from_unit::<TimestampMillisecondType>(array, to, safe),
        DataType::Timestamp(TimeUnit::Microsecond, _) => from_unit::<TimestampMicrosecondType>(array, to, safe),
        _ => from_unit::<TimestampNanosecondType>(array, to, safe),
    }
}

fn from_unit<T: ArrowTimestampType>(array: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let zone = match (array.data_type(), to) {
        (DataType::Timestamp(_, Some(zone)), DataType::Timestamp(_, None)) => Some(zone.parse::<Tz>()?),
        _ => None,
    };
    let made = match (array.data_type(), to) {
        // Which instant a time on the clock is, Arrow knows.
        (DataType::Timestamp(_, None), DataType::Timestamp(unit, Some(_))) => &DataType::Timestamp(*unit, None),
        _ => to,
    };
    let values = array.as_primitive::<T>();
    moments(values.iter().map(|value| value.map(|value| local::<T>(value, zone).ok_or_else(|| out_of_range(to)))), made, safe)
}

fn local<T: ArrowTimestampType>(value: i64, zone: Option<Tz>) -> Option<Moment> {
    let Some(zone) = zone else { return Some(Moment::of(value, T::UNIT)) };
    let clock = as_datetime_with_timezone::<T>(value, zone)?.naive_local().and_utc();
    Some(Moment { seconds: clock.timestamp(), nanoseconds: i64::from(clock.timestamp_subsec_nanos()) })
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

fn out_of_range(to: &DataType) -> ArrowError {
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
