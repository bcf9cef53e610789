//! The retention of versions: `'7 days'`, `INTERVAL '36 hours'`, `'forever'`, `0`.

use arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::ScalarValue;

use common::error::EngineError;

pub const FOREVER_MS: u64 = u64::MAX;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The units of a duration's text, longest first.
const UNITS: [(u64, &str); 5] = [(DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second"), (1, "millisecond")];

pub fn duration_ms(value: &ScalarValue) -> Result<u64, EngineError> {
    let interval = match value {
        ScalarValue::IntervalMonthDayNano(Some(interval)) => *interval,
        ScalarValue::Int64(Some(0)) => return Ok(0),
        ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            match text.trim().to_ascii_lowercase().as_str() {
                "0" => return Ok(0),
                "forever" => return Ok(FOREVER_MS),
                // Arrow reads a number without a unit as months.
                text if text.parse::<f64>().is_ok() => return Err(not_a_duration(text)),
                text => parse_interval_month_day_nano(text).map_err(|_| not_a_duration(text))?,
            }
        }
        other => return Err(not_a_duration(&other.to_string())),
    };
    of_interval(interval).ok_or_else(|| not_a_duration(&value.to_string()))
}

/// `None` for an interval that has no fixed length or is negative.
fn of_interval(interval: IntervalMonthDayNano) -> Option<u64> {
    if interval.months != 0 {
        return None;
    }
    let days_ms = i64::from(interval.days).checked_mul(DAY_MS as i64)?;
    u64::try_from(days_ms.checked_add(interval.nanoseconds / 1_000_000)?).ok()
}

fn not_a_duration(text: &str) -> EngineError {
    let message = format!("\"{text}\" is not a duration");
    let hint = Some("write it in days or smaller units, as '7 days' or '36 hours'; '0' and 'forever' are durations too".into());
    EngineError::Sql { message, position: None, hint }
}

/// A text that [`duration_ms`] parses.
pub fn duration_text(duration_ms: u64) -> String {
    if duration_ms == FOREVER_MS {
        return "forever".to_string();
    }
    let mut rest = duration_ms;
    let mut parts = Vec::new();
    for (length_ms, unit) in UNITS {
        match rest / length_ms {
            0 => {}
            1 => parts.push(format!("1 {unit}")),
            count => parts.push(format!("{count} {unit}s")),
        }
        rest %= length_ms;
    }
    if parts.is_empty() { "0".to_string() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<u64> {
        duration_ms(&ScalarValue::Utf8(Some(text.into()))).ok()
    }

    #[test]
    fn durations_are_read_as_they_are_written() {
        for (duration_ms, text) in [
            (0, "0"),
            (7 * DAY_MS, "7 days"),
            (36 * HOUR_MS, "1 day 12 hours"),
            (90 * SECOND_MS + 5, "1 minute 30 seconds 5 milliseconds"),
            (FOREVER_MS, "forever"),
        ] {
            assert_eq!(duration_text(duration_ms), text);
            assert_eq!(of(text), Some(duration_ms), "{text}");
        }
        assert_eq!(of("36 hours"), Some(36 * HOUR_MS));
        assert_eq!(of("2 weeks"), Some(14 * DAY_MS));
    }

    #[test]
    fn what_has_no_length_is_no_duration() {
        for text in ["7", "1 month", "-1 day", "soon", "", "1 year"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
