//! Parses texts that PostgreSQL reads differently from Arrow, or that Arrow does not read.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::kernels::cast_utils::{string_to_datetime, string_to_time_nanoseconds};
use arrow::compute::{CastOptions, cast, cast_with_options, nullif};
use arrow::datatypes::{DataType, Float32Type, Float64Type, IntervalMonthDayNanoType, IntervalUnit, Time64NanosecondType, TimeUnit};
use arrow::error::ArrowError;
use datafusion::common::Result;

use super::list_text::lists_of_texts;
use super::moments::{Moment, moments, out_of_range};
use crate::functions::float::with_one_nan;
use common::interval_text::interval_of_text;
use common::type_names::declared_name;

/// Where in a text the time of a timestamp begins.
const TIME_START: usize = 11;

pub fn is_read_here(from: &DataType, to: &DataType) -> bool {
    use DataType::{Float32, Float64, Interval, Time64, Timestamp};
    let is_known = matches!(to, Float32 | Float64 | Timestamp(..) | Time64(TimeUnit::Nanosecond) | Interval(IntervalUnit::MonthDayNano));
    from.is_string() && (is_known || to.is_list())
}

/// Parses texts as values of a type for which [`is_read_here`] holds.
pub fn read(array: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8View)?;
    match to {
        DataType::Timestamp(_, zone) => timestamps(&texts, zone.as_deref(), to, safe),
        DataType::Time64(_) => values::<Time64NanosecondType>(&texts, to, safe, time_of_day),
        DataType::Interval(_) => values::<IntervalMonthDayNanoType>(&texts, to, safe, interval_of_text),
        DataType::Float32 | DataType::Float64 => {
            let options = CastOptions { safe, ..CastOptions::default() };
            let made = with_one_nan(&cast_with_options(&texts, to, &options)?);
            let says_so = |row: usize| is_infinity(texts.as_string_view().value(row));
            finite(&made, safe, says_so, |row| format!("\"{}\"", texts.as_string_view().value(row)))
        }
        _ => lists_of_texts(texts.as_string_view(), to, safe),
    }
}

/// Doubles as REALs.
pub fn narrow(array: &ArrayRef, safe: bool) -> Result<ArrayRef> {
    let doubles = array.as_primitive::<Float64Type>();
    let made = cast(array, &DataType::Float32)?;
    finite(&made, safe, |row| doubles.value(row).is_infinite(), |row| format!("{:?}", doubles.value(row)))
}

/// The same floats; an error or NULL if a value became infinite that was not infinite before.
fn finite(made: &ArrayRef, safe: bool, is_so: impl Fn(usize) -> bool, shown: impl Fn(usize) -> String) -> Result<ArrayRef> {
    let infinite = |row: usize| match made.data_type() {
        DataType::Float32 => made.as_primitive::<Float32Type>().value(row).is_infinite(),
        _ => made.as_primitive::<Float64Type>().value(row).is_infinite(),
    };
    let is_beyond = |row: usize| made.is_valid(row) && infinite(row) && !is_so(row);
    match (0..made.len()).find(|row| is_beyond(*row)) {
        None => Ok(Arc::clone(made)),
        Some(row) if !safe => {
            let message = format!("{} is out of range for {}", shown(row), declared_name(made.data_type()));
            Err(ArrowError::CastError(message).into())
        }
        Some(_) => Ok(nullif(made, &(0..made.len()).map(|row| Some(is_beyond(row))).collect())?),
    }
}

fn is_infinity(text: &str) -> bool {
    text.trim().trim_start_matches(['+', '-']).get(..3).is_some_and(|word| word.eq_ignore_ascii_case("inf"))
}

fn values<T: ArrowPrimitiveType>(
    texts: &ArrayRef,
    to: &DataType,
    safe: bool,
    read: impl Fn(&str) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let values = texts.as_string_view().iter().map(|text| match text.map(|text| (text, read(text))) {
        Some((_, Some(value))) => Ok(Some(value)),
        Some((text, None)) if !safe => Err(wrong_text(text, to)),
        _ => Ok(None),
    });
    let values = values.collect::<Result<PrimitiveArray<T>, ArrowError>>()?;
    Ok(Arc::new(values))
}

/// Uses the words of Arrow's casts.
pub fn wrong_text(text: &str, to: &DataType) -> ArrowError {
    ArrowError::CastError(format!("Cannot cast string '{text}' to value of {} type", declared_name(to)))
}

/// Arrow's own parser takes a number for nanoseconds.
fn time_of_day(text: &str) -> Option<i64> {
    string_to_time_nanoseconds(text.trim()).ok()
}

fn timestamps(texts: &ArrayRef, zone: Option<&str>, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let (greenwich, zone) = ("UTC".parse::<Tz>()?, zone.map(str::parse::<Tz>).transpose()?);
    let moment = |text: &str| -> Result<Moment, ArrowError> {
        let text = &*with_seconds(text.trim());
        let instant = string_to_datetime(&greenwich, text)?;
        // As in PostgreSQL, a zone is read and ignored if the target has none.
        let instant = match zone_start(text).filter(|_| zone.is_none()) {
            Some(start) => string_to_datetime(&greenwich, text[..start].trim_end())?,
            None => instant,
        };
        let moment = Moment { seconds: instant.timestamp(), nanoseconds: i64::from(instant.timestamp_subsec_nanos()) };
        match zone.filter(|_| zone_start(text).is_none()) {
            Some(zone) => moment.on_clock_of(zone).ok_or_else(|| out_of_range(to)),
            None => Ok(moment),
        }
    };
    moments(texts.as_string_view().iter().map(|text| text.map(moment)), to, safe)
}

/// The text with `:00` after hour and minute, if they are the last of it or a zone follows.
fn with_seconds(text: &str) -> Cow<'_, str> {
    let is_zone = |rest: &str| rest.is_empty() || rest.starts_with([' ', 'Z', 'z', '+', '-']);
    match text.split_at_checked(TIME_START + "10:00".len()) {
        Some((start, rest)) if is_zone(rest) && start.as_bytes()[TIME_START + 2] == b':' => Cow::Owned(format!("{start}:00{rest}")),
        _ => Cow::Borrowed(text),
    }
}

/// Where the zone begins in the text of a timestamp that has one.
fn zone_start(text: &str) -> Option<usize> {
    let time = text.get(TIME_START..)?;
    time.find(|char: char| !char.is_ascii_digit() && char != ':' && char != '.').map(|start| TIME_START + start)
}
