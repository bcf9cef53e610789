//! Values as text, the same text that `make_expected.py` writes; README.md is the specification.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::*;

/// The last nanosecond of a second is the ninth digit.
const NANOS: i64 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

pub fn type_letter(kind: &DataType) -> char {
    match kind {
        DataType::Boolean => 'B',
        kind if kind.is_integer() => 'I',
        kind if kind.is_floating() || kind.is_decimal() => 'R',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => 'D',
        DataType::Timestamp(_, _) => 'P',
        DataType::Dictionary(_, value) => type_letter(value),
        _ => '?',
    }
}

macro_rules! number {
    ($array:expr, $row:expr, $kind:ty) => {
        $array.as_primitive::<$kind>().value($row)
    };
}

pub fn show(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    match array.data_type() {
        DataType::Null => "NULL".to_owned(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => number!(array, row, Int8Type).to_string(),
        DataType::Int16 => number!(array, row, Int16Type).to_string(),
        DataType::Int32 => number!(array, row, Int32Type).to_string(),
        DataType::Int64 => number!(array, row, Int64Type).to_string(),
        DataType::UInt8 => number!(array, row, UInt8Type).to_string(),
        DataType::UInt16 => number!(array, row, UInt16Type).to_string(),
        DataType::UInt32 => number!(array, row, UInt32Type).to_string(),
        DataType::UInt64 => number!(array, row, UInt64Type).to_string(),
        DataType::Float32 => show_float(number!(array, row, Float32Type).into(), 6),
        DataType::Float64 => show_float(number!(array, row, Float64Type), 12),
        DataType::Decimal32(_, _) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        DataType::Decimal64(_, _) => array.as_primitive::<Decimal64Type>().value_as_string(row),
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(_, _) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        DataType::Utf8 => show_text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => show_text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => show_text(array.as_string_view().value(row)),
        DataType::Binary => show_bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => show_bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => show_bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => show_bytes(array.as_fixed_size_binary().value(row)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            show(dictionary.values(), dictionary.normalized_keys()[row])
        }
        _ => show_temporal(array, row).unwrap_or_else(|| show_nested(array, row)),
    }
}

fn show_temporal(array: &ArrayRef, row: usize) -> Option<String> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match array.data_type() {
        DataType::Date32 => show_date(number!(array, row, Date32Type).into()),
        DataType::Date64 => show_date(number!(array, row, Date64Type).div_euclid(DAY_SECONDS * 1000)),
        DataType::Time32(Second) => show_clock(number!(array, row, Time32SecondType).into(), Second),
        DataType::Time32(_) => show_clock(number!(array, row, Time32MillisecondType).into(), Millisecond),
        DataType::Time64(Microsecond) => show_clock(number!(array, row, Time64MicrosecondType), Microsecond),
        DataType::Time64(_) => show_clock(number!(array, row, Time64NanosecondType), Nanosecond),
        DataType::Timestamp(unit, zone) => {
            let ticks = match unit {
                Second => number!(array, row, TimestampSecondType),
                Millisecond => number!(array, row, TimestampMillisecondType),
                Microsecond => number!(array, row, TimestampMicrosecondType),
                Nanosecond => number!(array, row, TimestampNanosecondType),
            };
            let day = DAY_SECONDS * per_second(*unit);
            let clock = show_clock(ticks.rem_euclid(day), *unit);
            let suffix = if zone.is_some() { "Z" } else { "" };
            format!("{}T{clock}{suffix}", show_date(ticks.div_euclid(day)))
        }
        DataType::Duration(unit) => {
            let ticks = match unit {
                Second => number!(array, row, DurationSecondType),
                Millisecond => number!(array, row, DurationMillisecondType),
                Microsecond => number!(array, row, DurationMicrosecondType),
                Nanosecond => number!(array, row, DurationNanosecondType),
            };
            show_span(0, 0, ticks * (NANOS / per_second(*unit)))
        }
        DataType::Interval(IntervalUnit::YearMonth) => show_span(number!(array, row, IntervalYearMonthType), 0, 0),
        DataType::Interval(IntervalUnit::DayTime) => {
            let span = number!(array, row, IntervalDayTimeType);
            show_span(0, span.days, i64::from(span.milliseconds) * 1_000_000)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let span = number!(array, row, IntervalMonthDayNanoType);
            show_span(span.months, span.days, span.nanoseconds)
        }
        _ => return None,
    })
}

fn show_nested(array: &ArrayRef, row: usize) -> String {
    match array.data_type() {
        DataType::List(_) => show_list(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => show_list(&array.as_list::<i64>().value(row)),
        DataType::ListView(_) => show_list(&array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => show_list(&array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(_, _) => show_list(&array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let show_field = |(field, column): (&FieldRef, &ArrayRef)| format!("{}: {}", field.name(), show(column, row));
            braced(fields.iter().zip(columns).map(show_field))
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            braced((0..entries.len()).map(|i| format!("{}={}", show(keys, i), show(values, i))))
        }
        // Any text that no expectation holds: the record fails and names the type.
        other => format!("<no text form for {other}>"),
    }
}

fn show_list(items: &ArrayRef) -> String {
    let shown: Vec<String> = (0..items.len()).map(|i| show(items, i)).collect();
    format!("[{}]", shown.join(", "))
}

fn braced(parts: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
}

/// `figures` significant digits, no trailing zeros, an exponent only outside 1e-5 … 1e15.
fn show_float(value: f64, figures: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    if value == 0.0 {
        return format!("{sign}0");
    }
    let scientific = format!("{:.*e}", figures - 1, value.abs());
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} writes an exponent");
    let exponent: i32 = exponent.parse().expect("{:e} writes a decimal exponent");
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let with_point = |whole: &str, fraction: &str| match fraction {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    };
    let text = match exponent {
        0..15 => {
            let whole_digits = exponent as usize + 1;
            let padded = format!("{digits:0<whole_digits$}");
            with_point(&padded[..whole_digits], &padded[whole_digits..])
        }
        -5..0 => format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
        _ => format!("{}e{exponent}", with_point(&digits[..1], &digits[1..])),
    };
    format!("{sign}{text}")
}

fn show_text(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    // Backslash first: the others write backslashes of their own.
    [('\\', "\\\\"), ('\n', "\\n"), ('\r', "\\r"), ('\t', "\\t"), ('\0', "\\0")]
        .iter()
        .fold(text.to_owned(), |text, (char, escape)| text.replace(*char, escape))
}

fn show_bytes(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\\x{digits}")
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOS,
    }
}

fn show_clock(ticks: i64, unit: TimeUnit) -> String {
    let (seconds, rest) = (ticks / per_second(unit), ticks % per_second(unit));
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let nanos = rest * (NANOS / per_second(unit));
    match format!("{nanos:09}").trim_end_matches('0') {
        "" => clock,
        fraction => format!("{clock}.{fraction}"),
    }
}

fn show_span(months: i32, days: i32, nanos: i64) -> String {
    let mut parts = Vec::new();
    if months != 0 {
        parts.push(format!("{months} months"));
    }
    if days != 0 {
        parts.push(format!("{days} days"));
    }
    if nanos != 0 || parts.is_empty() {
        let sign = if nanos < 0 { "-" } else { "" };
        parts.push(format!("{sign}{}", show_clock(nanos.abs(), TimeUnit::Nanosecond)));
    }
    parts.join(" ")
}

/// Days since 1970-01-01 as an ISO date (Howard Hinnant's civil_from_days; no calendar crate here).
fn show_date(days: i64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}
