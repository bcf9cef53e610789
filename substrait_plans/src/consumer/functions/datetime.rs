//! Functions of dates and times.

use std::sync::Arc;

use arrow::datatypes::{DataType, IntervalMonthDayNano, TimeUnit};
use datafusion::common::Result as DfResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, lit};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::scalar::ScalarValue;

use super::call::{Call, cast, text};
use crate::types::known_zone;

pub fn add(call: Call<'_>) -> DfResult<Expr> {
    sum(call, Operator::Plus)
}

pub fn subtract(call: Call<'_>) -> DfResult<Expr> {
    sum(call, Operator::Minus)
}

/// Takes two arguments; with a time zone as the third, the interval follows the calendar of that zone.
fn sum(mut call: Call<'_>, operator: Operator) -> DfResult<Expr> {
    let zone = if call.values.len() == 3 { Some(call.one()?) } else { None };
    let (left, right) = call.two()?;
    let binary = |left: Expr, right: Expr| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)));
    let Some(zone) = zone else { return Ok(binary(left, right)) };
    let data_type = call.type_of(&left)?;
    let local = in_zone(&call, left, &zone)?;
    Ok(cast(binary(local, right), data_type))
}

/// A part of a date or time as an i64. DataFusion includes the seconds in the milliseconds; the standard does not.
pub fn extract(mut call: Call<'_>) -> DfResult<Expr> {
    let mut enums = std::mem::take(&mut call.enums).into_iter();
    let component = match enums.next() {
        Some(component) => component,
        None if call.values.len() == 2 => {
            let component = call.values.remove(0);
            text(&component).map(str::to_ascii_uppercase).ok_or_else(|| call.unsupported("a component that is no constant"))?
        }
        None => return Err(call.invalid("no component").into()),
    };
    let is_from_zero = match enums.next().as_deref() {
        None | Some("ONE") => false,
        Some("ZERO") => true,
        Some(other) => return Err(call.invalid(format!("the indexing {}", other.escape_default())).into()),
    };
    let zone = if call.values.len() == 2 { Some(call.one()?) } else { None };
    let value = call.one()?;
    let value = match zone {
        Some(zone) => in_zone(&call, value, &zone)?,
        None => value,
    };
    let (part, first, modulus) = match component.as_str() {
        "YEAR" => ("year", None, None),
        "ISO_YEAR" => ("isoyear", None, None),
        "HOUR" => ("hour", None, None),
        "MINUTE" => ("minute", None, None),
        "SECOND" => ("second", None, None),
        "MILLISECOND" => ("millisecond", None, Some(1_000)),
        "MICROSECOND" => ("microsecond", None, Some(1_000)),
        "SUBSECOND" => ("microsecond", None, Some(1_000_000)),
        "NANOSECOND" => ("nanosecond", None, Some(1_000)),
        "UNIX_TIME" => ("epoch", None, None),
        "QUARTER" => ("quarter", Some(1), None),
        "MONTH" => ("month", Some(1), None),
        "DAY" => ("day", Some(1), None),
        "DAY_OF_YEAR" => ("doy", Some(1), None),
        "MONDAY_DAY_OF_WEEK" => ("isodow", Some(1), None),
        "SUNDAY_DAY_OF_WEEK" => ("dow", Some(0), None),
        "ISO_WEEK" => ("week", Some(1), None),
        other => return Err(call.unsupported(format!("the component {}", other.escape_default())).into()),
    };
    let value = call.function("date_part", vec![lit(part), value])?;
    // Half a second before the epoch is in second -1.
    let value = if part == "epoch" { call.function("floor", vec![value])? } else { value };
    let number = cast(value, DataType::Int64);
    let number = match modulus {
        Some(modulus) => number % lit(modulus as i64),
        None => number,
    };
    Ok(match first {
        Some(first) if first != i64::from(!is_from_zero) => number + lit(i64::from(!is_from_zero) - first),
        _ => number,
    })
}

/// An i64, as in Arrow.
pub fn year(mut call: Call<'_>) -> DfResult<Expr> {
    let value = call.one()?;
    let part = call.function("date_part", vec![Expr::Literal(ScalarValue::from("year"), None), value])?;
    Ok(cast(part, DataType::Int64))
}

/// Converts a local time in a zone to an instant.
pub fn assume_timezone(mut call: Call<'_>) -> DfResult<Expr> {
    let (value, zone) = call.two()?;
    let unit = unit_of(&call, &value)?;
    let local = cast(value, DataType::Timestamp(unit, None));
    Ok(cast(local, DataType::Timestamp(unit, Some(zone_of(&call, &zone)?))))
}

/// Converts an instant to the local time in a zone.
pub fn local_timestamp(mut call: Call<'_>) -> DfResult<Expr> {
    let (value, zone) = call.two()?;
    let local = in_zone(&call, value, &zone)?;
    call.function("to_local_time", vec![local])
}

pub fn strftime(mut call: Call<'_>) -> DfResult<Expr> {
    let zone = if call.values.len() == 3 { Some(call.one()?) } else { None };
    let (value, format) = call.two()?;
    let value = match zone {
        Some(zone) => in_zone(&call, value, &zone)?,
        None => value,
    };
    call.function("to_char", vec![value, format])
}

pub fn to_days(call: Call<'_>) -> DfResult<Expr> {
    interval(call, |days| Some((0, days)))
}

pub fn to_months(call: Call<'_>) -> DfResult<Expr> {
    interval(call, |months| Some((months, 0)))
}

pub fn to_years(call: Call<'_>) -> DfResult<Expr> {
    interval(call, |years| Some((years.checked_mul(12)?, 0)))
}

/// DuckDB writes intervals as calls with a constant, which it wraps in casts.
fn interval(mut call: Call<'_>, parts: fn(i32) -> Option<(i32, i32)>) -> DfResult<Expr> {
    let value = call.one()?;
    let number = match ExprSimplifier::new(SimplifyContext::default()).simplify(value)? {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(number) => number.and_then(|number| i32::try_from(number).ok()).and_then(parts),
            _ => None,
        },
        _ => None,
    };
    let (months, days) = number.ok_or_else(|| call.unsupported("an interval of a number that is no constant, or too large,"))?;
    Ok(Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano { months, days, nanoseconds: 0 })), None))
}

/// The same instant with another time zone.
fn in_zone(call: &Call<'_>, value: Expr, zone: &Expr) -> DfResult<Expr> {
    match call.type_of(&value)? {
        DataType::Timestamp(unit, Some(_)) => Ok(cast(value, DataType::Timestamp(unit, Some(zone_of(call, zone)?)))),
        other => Err(call.invalid(format!("a time zone for {other}, which is no instant")).into()),
    }
}

fn zone_of(call: &Call<'_>, zone: &Expr) -> DfResult<Arc<str>> {
    let name = text(zone).ok_or_else(|| call.unsupported("a time zone that is no constant"))?;
    Ok(known_zone(name, &call.place)?)
}

fn unit_of(call: &Call<'_>, value: &Expr) -> DfResult<TimeUnit> {
    match call.type_of(value)? {
        DataType::Timestamp(unit, None) => Ok(unit),
        DataType::Date32 | DataType::Date64 => Ok(TimeUnit::Microsecond),
        other => Err(call.invalid(format!("a time zone for {other}")).into()),
    }
}
