//! Values that are written in another way than the parsers of values read them.

use std::borrow::Cow;

use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::{DataType, Date32Type, Date64Type};
use arrow::temporal_conversions::{date32_to_datetime, date64_to_datetime};

use crate::import::infer::{DateOrder, SeenTypes, classify, iso_date};
use crate::import::options::CsvOptions;

/// How the dates of a column are written.
#[derive(Clone, Debug)]
pub(super) enum DateNotation {
    Order(DateOrder),
    /// Patterns of strftime.
    Patterns(Vec<String>),
}

impl DateNotation {
    /// The notation of a column of this type; `seen` is what its values look like. `None`: as in SQL.
    pub fn of(data_type: &DataType, seen: SeenTypes, options: &CsvOptions) -> Option<DateNotation> {
        if !matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)) {
            return None;
        }
        match options.date_formats.is_empty() {
            true => seen.date_order().map(DateNotation::Order),
            false => Some(DateNotation::Patterns(options.date_formats.clone())),
        }
    }

    /// The date or timestamp as in ISO 8601; `None` if it is not written in this way.
    pub fn iso(&self, text: &str) -> Option<String> {
        match self {
            DateNotation::Order(order) => iso_date(text, *order),
            DateNotation::Patterns(patterns) => iso_by_one_of(text, patterns),
        }
    }
}

fn iso_by_one_of(text: &str, patterns: &[String]) -> Option<String> {
    patterns.iter().find_map(|pattern| iso_by_pattern(text, pattern))
}

fn iso_by_pattern(text: &str, pattern: &str) -> Option<String> {
    if has_time(pattern) {
        return Some(date64_to_datetime(Date64Type::parse_formatted(text, pattern)?)?.to_string());
    }
    let midnight = date32_to_datetime(Date32Type::parse_formatted(text, pattern)?)?.to_string();
    midnight.split_once(' ').map(|(date, _)| date.to_owned())
}

/// The parser of dates ignores a time in the pattern. A sign before the letter says how to pad: `%-H`.
fn has_time(pattern: &str) -> bool {
    let is_of_time = |part: &str| {
        part.trim_start_matches(['-', '_', '0']).starts_with(['H', 'I', 'k', 'l', 'M', 'S', 'p', 'P', 'T', 'R', 'X', 'c', 's', 'r'])
    };
    pattern.split('%').skip(1).any(is_of_time)
}

/// A number with a decimal comma, as it is with a point. A point would be a sign for thousands, so that text is no number.
pub(super) fn with_point(text: &str) -> Option<Cow<'_, str>> {
    match (text.contains('.'), text.bytes().filter(|byte| *byte == b',').count()) {
        (false, 0) => Some(Cow::Borrowed(text)),
        (false, 1) => Some(Cow::Owned(text.replace(',', "."))),
        _ => None,
    }
}

/// The type of a value in the notation of `options`.
pub(super) fn classify_in(text: &str, options: &CsvOptions) -> SeenTypes {
    let text = text.trim_ascii();
    if let Some(iso) = iso_by_one_of(text, &options.date_formats) {
        return classify(&iso);
    }
    if !options.has_decimal_comma {
        return classify(text);
    }
    match with_point(text) {
        Some(number) => classify(&number),
        None if classify(text).is_number() => SeenTypes::TEXT,
        None => classify(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_a_pattern_are_read_as_in_iso_8601() {
        assert_eq!(iso_by_pattern("31.01.2024", "%d.%m.%Y").as_deref(), Some("2024-01-31"));
        assert_eq!(iso_by_pattern("31.01.2024 10:05:00", "%d.%m.%Y %H:%M:%S").as_deref(), Some("2024-01-31 10:05:00"));
        assert_eq!(iso_by_pattern("1/2/2024 9:05", "%-d/%-m/%Y %-H:%M").as_deref(), Some("2024-02-01 09:05:00"));
        assert_eq!(iso_by_pattern("31.02.2024", "%d.%m.%Y"), None);
        assert_eq!(iso_by_pattern("x", "%"), None);
    }

    #[test]
    fn a_decimal_comma_is_a_point_and_a_point_makes_no_number() {
        let options = CsvOptions { has_decimal_comma: true, ..CsvOptions::default() };
        assert_eq!(classify_in("1,5", &options), SeenTypes::FLOAT);
        assert_eq!(classify_in("15", &options), SeenTypes::INT);
        assert_eq!(classify_in("1.234,5", &options), SeenTypes::TEXT);
        assert_eq!(classify_in("1.5", &options), SeenTypes::TEXT);
        assert_eq!(classify_in("2024-01-31", &options), SeenTypes::DATE);
    }
}
