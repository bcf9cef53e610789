//! Constant intervals, exact to the nanosecond.

use std::fmt::Display;

use arrow::datatypes::{IntervalDayTime, IntervalMonthDayNano};
use datafusion::scalar::ScalarValue;

use crate::error::PlanError;
use crate::proto::expression::literal::interval_day_to_second::PrecisionMode;
use crate::proto::expression::literal::{IntervalCompound, IntervalDayToSecond, IntervalYearToMonth};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

pub fn years(written: &IntervalYearToMonth, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let months = months(written).ok_or_else(|| too_long(place))?;
    Ok(ScalarValue::IntervalYearMonth(Some(months)))
}

/// Uses DataFusion's type of days and milliseconds if the value fits.
pub fn days(written: &IntervalDayToSecond, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let nanoseconds = nanoseconds(written, place)?;
    if nanoseconds % NANOS_PER_MILLI == 0
        && let Ok(milliseconds) = i32::try_from(nanoseconds / NANOS_PER_MILLI)
    {
        return Ok(ScalarValue::IntervalDayTime(Some(IntervalDayTime { days: written.days, milliseconds })));
    }
    Ok(ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano { months: 0, days: written.days, nanoseconds })))
}

/// A missing part is zero.
pub fn compound(written: &IntervalCompound, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let months = match &written.interval_year_to_month {
        Some(part) => months(part).ok_or_else(|| too_long(place))?,
        None => 0,
    };
    let (days, nanoseconds) = match &written.interval_day_to_second {
        Some(part) => (part.days, nanoseconds(part, place)?),
        None => (0, 0),
    };
    Ok(ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano { months, days, nanoseconds })))
}

fn months(written: &IntervalYearToMonth) -> Option<i32> {
    written.years.checked_mul(12)?.checked_add(written.months)
}

#[expect(deprecated, reason = "intervals of plans before 0.50")]
fn nanoseconds(written: &IntervalDayToSecond, place: &dyn Display) -> Result<i64, PlanError> {
    let (subseconds, precision) = match written.precision_mode {
        Some(PrecisionMode::Microseconds(micros)) => (i64::from(micros), 6),
        Some(PrecisionMode::Precision(precision)) => (written.subseconds, precision),
        None if written.subseconds == 0 => (0, 0),
        None => return Err(PlanError::missing("the precision of an interval", place)),
    };
    let unit = match u32::try_from(precision) {
        Ok(digits @ 0..=9) => 10_i64.pow(9 - digits),
        _ => return Err(PlanError::unsupported(format!("an interval with {precision} digits after the second"), place)),
    };
    let fraction = subseconds.checked_mul(unit);
    let nanoseconds = fraction.and_then(|fraction| (i64::from(written.seconds) * NANOS_PER_SECOND).checked_add(fraction));
    nanoseconds.ok_or_else(|| too_long(place))
}

fn too_long(place: &dyn Display) -> PlanError {
    PlanError::invalid("an interval that is too long", place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i32, subseconds: i64, precision: i32) -> IntervalDayToSecond {
        IntervalDayToSecond { days: 1, seconds, subseconds, precision_mode: Some(PrecisionMode::Precision(precision)) }
    }

    #[test]
    fn an_interval_keeps_its_microseconds() {
        let micros = days(&seconds(4, 5, 6), &"").unwrap();
        let expected = IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 4_000_005_000 };
        assert_eq!(micros, ScalarValue::IntervalMonthDayNano(Some(expected)));
        let millis = days(&seconds(4, 5, 3), &"").unwrap();
        assert_eq!(millis, ScalarValue::IntervalDayTime(Some(IntervalDayTime { days: 1, milliseconds: 4_005 })));
    }

    #[test]
    fn an_interval_that_fits_no_number_is_refused() {
        assert!(days(&seconds(i32::MAX, i64::MAX, 0), &"").is_err());
        assert!(days(&seconds(1, 1, 40), &"").is_err());
        assert!(years(&IntervalYearToMonth { years: i32::MAX, months: 0 }, &"").is_err());
        // More than 32 bits of milliseconds, which the library would wrap.
        assert!(matches!(days(&seconds(i32::MAX, 0, 3), &""), Ok(ScalarValue::IntervalMonthDayNano(Some(_)))));
    }
}
