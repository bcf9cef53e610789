//! `to_char` with PostgreSQL's patterns, and with those of chrono as in DataFusion.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType};
use arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::to_char as datafusion_to_char;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use crate::functions::casts::Moment;
use crate::functions::patterns::{Civil, Item, items, write};
use common::error::EngineError;

pub fn to_char() -> ScalarUDF {
    ScalarUDF::from(ToChar { inner: datafusion_to_char() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToChar {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ToChar {
    described_by_function!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, pattern] = args.args.as_slice() else { return self.inner.invoke_with_args(args) };
        if matches!(value.data_type(), DataType::Duration(_)) {
            refuse_patterns_of_durations(pattern)?;
            return self.inner.invoke_with_args(args);
        }
        let is_scalar = matches!((value, pattern), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        // A constant pattern is parsed once.
        let pattern_rows = if matches!(pattern, ColumnarValue::Scalar(_)) { 1 } else { rows };
        let patterns = cast(&pattern.to_array(pattern_rows)?, &DataType::Utf8View)?;
        let patterns = patterns.as_string_view();
        if patterns.iter().flatten().any(|pattern| pattern.contains('%')) {
            return self.inner.invoke_with_args(args);
        }
        let times = times(&value.to_array(rows)?)?;
        let mut known: Option<(&str, Vec<Item>)> = None;
        let mut texts = StringBuilder::new();
        for (row, time) in times.iter().enumerate() {
            let place = if pattern_rows == 1 { 0 } else { row };
            let Some(time) = time.as_ref().filter(|_| patterns.is_valid(place)) else {
                texts.append_null();
                continue;
            };
            let pattern = patterns.value(place);
            let fresh = match known.take().filter(|(known, _)| *known == pattern) {
                Some(known) => known,
                None => (pattern, items(pattern)?),
            };
            texts.append_value(write(&fresh.1, time));
            known = Some(fresh);
        }
        let made: ArrayRef = Arc::new(texts.finish());
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

/// DataFusion would read any other text as one of these two formats.
fn refuse_patterns_of_durations(pattern: &ColumnarValue) -> Result<()> {
    let patterns = cast(&pattern.to_array(1)?, &DataType::Utf8View)?;
    let is_known = |pattern: &str| ["iso8601", "pretty"].iter().any(|known| known.eq_ignore_ascii_case(pattern));
    match patterns.as_string_view().iter().flatten().find(|pattern| !is_known(pattern)) {
        None => Ok(()),
        Some(pattern) => {
            let message = format!("to_char of a time difference takes 'iso8601' or 'pretty', and was given '{pattern}'");
            let hint = "cast it to INTERVAL, or compute with extract(epoch FROM …)".to_string();
            Err(EngineError::data(message, Some(hint)).into_datafusion())
        }
    }
}

/// The local times of the values.
fn times(values: &ArrayRef) -> Result<Vec<Option<Civil>>> {
    match values.data_type() {
        DataType::Time32(_) | DataType::Time64(_) => {
            let values = cast(values, &DataType::Time64(TimeUnit::Nanosecond))?;
            let values = values.as_primitive::<Time64NanosecondType>();
            let civil = |value: i64| Civil::new(value.div_euclid(1_000_000_000), value.rem_euclid(1_000_000_000), 0);
            Ok(values.iter().map(|value| value.map(civil)).collect())
        }
        DataType::Timestamp(unit, Some(zone)) => {
            let (unit, zone) = (*unit, zone.parse::<Tz>()?);
            let values = cast(values, &DataType::Int64)?;
            let values = values.as_primitive::<arrow::datatypes::Int64Type>();
            values.iter().map(|value| value.map(|value| on_clock(Moment::of(value, unit), zone)).transpose()).collect()
        }
        DataType::Timestamp(unit, None) => {
            let unit = *unit;
            let values = cast(values, &DataType::Int64)?;
            let civil = |value| {
                let moment = Moment::of(value, unit);
                Civil::new(moment.seconds, moment.nanoseconds, 0)
            };
            Ok(values.as_primitive::<arrow::datatypes::Int64Type>().iter().map(|value| value.map(civil)).collect())
        }
        _ => {
            let days = cast(&cast(values, &DataType::Date32)?, &DataType::Int32)?;
            let days = days.as_primitive::<arrow::datatypes::Int32Type>();
            Ok(days.iter().map(|days| days.map(|days| Civil::new(i64::from(days) * 86_400, 0, 0))).collect())
        }
    }
}

fn on_clock(at: Moment, zone: Tz) -> Result<Civil> {
    let out_of_range = || EngineError::data("a timestamp is out of the range of calendars", None).into_datafusion();
    let micros = at.seconds.checked_mul(1_000_000).ok_or_else(out_of_range)?;
    let clock = as_datetime_with_timezone::<TimestampMicrosecondType>(micros, zone).ok_or_else(out_of_range)?;
    let local = clock.naive_local().and_utc().timestamp();
    Ok(Civil::new(local, at.nanoseconds, local - at.seconds))
}
