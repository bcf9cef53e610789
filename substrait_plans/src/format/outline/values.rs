//! Literals in readable form.

use arrow::temporal_conversions::{
    date32_to_datetime, timestamp_ms_to_datetime, timestamp_ns_to_datetime, timestamp_s_to_datetime, timestamp_us_to_datetime,
};

use crate::proto::expression::Literal;
use crate::proto::expression::literal::{Decimal, IntervalDayToSecond, IntervalYearToMonth, LiteralType, PrecisionTimestamp};

/// Longer texts and bytes are truncated.
const CHARS_MAX: usize = 200;

pub fn value(literal: &Literal) -> String {
    match &literal.literal_type {
        Some(LiteralType::Boolean(value)) => value.to_string(),
        Some(LiteralType::I8(value) | LiteralType::I16(value) | LiteralType::I32(value)) => value.to_string(),
        Some(LiteralType::I64(value)) => value.to_string(),
        Some(LiteralType::Fp32(value)) => format!("{value:?}"),
        Some(LiteralType::Fp64(value)) => format!("{value:?}"),
        Some(LiteralType::String(text) | LiteralType::FixedChar(text)) => quoted(text),
        Some(LiteralType::VarChar(text)) => quoted(&text.value),
        Some(LiteralType::Binary(bytes) | LiteralType::FixedBinary(bytes) | LiteralType::Uuid(bytes)) => hexadecimal(bytes),
        Some(LiteralType::Date(days)) => {
            date32_to_datetime(*days).map_or_else(|| format!("day {days}"), |at| format!("date '{}'", at.date()))
        }
        Some(LiteralType::PrecisionTimestamp(at)) => format!("timestamp '{}'", moment(at)),
        Some(LiteralType::PrecisionTimestampTz(at)) => format!("timestamp '{} UTC'", moment(at)),
        Some(LiteralType::PrecisionTime(at)) => format!("time {} / 10^{} s", at.value, at.precision),
        Some(LiteralType::Decimal(decimal)) => digits(decimal),
        Some(LiteralType::IntervalYearToMonth(interval)) => format!("interval '{}'", months(interval)),
        Some(LiteralType::IntervalDayToSecond(interval)) => format!("interval '{}'", days(interval)),
        Some(LiteralType::IntervalCompound(interval)) => {
            let parts = [interval.interval_year_to_month.as_ref().map(months), interval.interval_day_to_second.as_ref().map(days)];
            format!("interval '{}'", parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
        }
        Some(LiteralType::Null(_)) => "null".to_string(),
        Some(LiteralType::List(list)) => format!("[{}]", values(&list.values)),
        Some(LiteralType::EmptyList(_)) => "[]".to_string(),
        Some(LiteralType::Struct(row)) => format!("struct({})", values(&row.fields)),
        Some(LiteralType::EmptyMap(_)) => "{}".to_string(),
        Some(LiteralType::Map(map)) => {
            let or_null = |literal: &Option<Literal>| literal.as_ref().map_or_else(|| "null".to_string(), value);
            let entries = map.key_values.iter().map(|entry| format!("{}: {}", or_null(&entry.key), or_null(&entry.value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        _ => "a value that is not shown here".to_string(),
    }
}

fn values(literals: &[Literal]) -> String {
    literals.iter().map(value).collect::<Vec<_>>().join(", ")
}

fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(CHARS_MAX).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("'{}{more}'", shown.replace('\'', "''"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(CHARS_MAX / 2).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > CHARS_MAX / 2 { "…" } else { "" };
    format!("x'{shown}{more}'")
}

fn moment(at: &PrecisionTimestamp) -> String {
    let moment = match at.precision {
        0 => timestamp_s_to_datetime(at.value),
        3 => timestamp_ms_to_datetime(at.value),
        6 => timestamp_us_to_datetime(at.value),
        9 => timestamp_ns_to_datetime(at.value),
        _ => None,
    };
    moment.map_or_else(|| format!("{} / 10^{} s", at.value, at.precision), |moment| moment.to_string())
}

/// The number is a little-endian integer of 16 bytes; the decimal point comes before its last `scale` digits.
fn digits(decimal: &Decimal) -> String {
    let Ok(bytes) = <[u8; 16]>::try_from(decimal.value.as_slice()) else { return "a decimal of a wrong length".to_string() };
    let number = i128::from_le_bytes(bytes);
    let scale = usize::try_from(decimal.scale).unwrap_or(0).min(CHARS_MAX);
    let all = format!("{:0>width$}", number.unsigned_abs(), width = scale + 1);
    let (whole, part) = all.split_at(all.len() - scale);
    let sign = if number < 0 { "-" } else { "" };
    match part {
        "" => format!("{sign}{whole}"),
        part => format!("{sign}{whole}.{part}"),
    }
}

fn months(interval: &IntervalYearToMonth) -> String {
    format!("{} months", i64::from(interval.years) * 12 + i64::from(interval.months))
}

fn days(interval: &IntervalDayToSecond) -> String {
    let mut parts = vec![format!("{} days", interval.days)];
    if interval.seconds != 0 || interval.subseconds != 0 {
        parts.push(format!("{} s", interval.seconds));
    }
    if interval.subseconds != 0 {
        parts.push(format!("{} parts of one", interval.subseconds));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_their_point_where_it_belongs() {
        let decimal = |number: i128, scale| digits(&Decimal { value: number.to_le_bytes().to_vec(), precision: 38, scale });
        assert_eq!(decimal(12345, 2), "123.45");
        assert_eq!(decimal(-5, 2), "-0.05");
        assert_eq!(decimal(0, 2), "0.00");
        assert_eq!(decimal(42, 0), "42");
        assert_eq!(decimal(i128::MIN, 0), "-170141183460469231731687303715884105728");
    }

    #[test]
    fn texts_are_quoted_and_cut() {
        assert_eq!(quoted("it's"), "'it''s'");
        assert_eq!(quoted(&"é".repeat(300)).chars().count(), CHARS_MAX + 3);
        assert_eq!(hexadecimal(&[0, 255]), "x'00ff'");
    }
}
