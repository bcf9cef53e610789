//! Infers the type of a column of texts.
//!
//! Every value sets a flag; at the end the flags of a column decide:
//!
//! | values seen | type |
//! |---|---|
//! | `true`, `false` in any case | BOOLEAN |
//! | integers without leading zeros or `+` | BIGINT; DECIMAL(38,0) beyond 64 bits |
//! | integers and numbers with a point or an exponent, `NaN`, `inf` | DOUBLE |
//! | `2013-01-31` | DATE |
//! | `2013-01-31 10:00:00.123456`, also with `T`, and dates among them | TIMESTAMP |
//! | the same, all with `Z` or an offset | TIMESTAMP WITH TIME ZONE |
//! | `10:00:00` | TIME |
//! | anything else, or a mix | VARCHAR |
//!
//! `00501`, `+49…` and a timestamp finer than a microsecond are VARCHAR: as a number or a timestamp
//! they would lose something. The tokens of [`is_soft_null`] do not count, so a column of numbers
//! and `NA` is a column of numbers with NULLs; in a VARCHAR column they stay text.

use arrow::array::timezone::Tz;
use arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use arrow::datatypes::{DataType, Date32Type, Float64Type, TimeUnit};

pub const UTC: &str = "UTC";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenTypes(u16);

impl SeenTypes {
    pub const BOOL: SeenTypes = SeenTypes(1);
    pub const INT: SeenTypes = SeenTypes(1 << 1);
    pub const BIG_INT: SeenTypes = SeenTypes(1 << 2);
    pub const FLOAT: SeenTypes = SeenTypes(1 << 3);
    pub const NAN: SeenTypes = SeenTypes(1 << 4);
    pub const INFINITY: SeenTypes = SeenTypes(1 << 5);
    pub const DATE: SeenTypes = SeenTypes(1 << 6);
    pub const TIMESTAMP: SeenTypes = SeenTypes(1 << 7);
    pub const TIMESTAMP_ZONED: SeenTypes = SeenTypes(1 << 8);
    pub const TIME: SeenTypes = SeenTypes(1 << 9);
    pub const TEXT: SeenTypes = SeenTypes(1 << 10);

    pub fn add(&mut self, other: SeenTypes) {
        self.0 |= other.0;
    }

    pub fn is_text(self) -> bool {
        self.0 & SeenTypes::TEXT.0 != 0
    }

    fn within(self, parts: &[SeenTypes]) -> bool {
        self.0 & !parts.iter().fold(0, |all, part| all | part.0) == 0
    }

    fn has(self, part: SeenTypes) -> bool {
        self.0 & part.0 != 0
    }

    /// `Null` when no value was seen: such a column takes the type it has in other files.
    pub fn data_type(self) -> DataType {
        let numbers = [SeenTypes::INT, SeenTypes::BIG_INT, SeenTypes::FLOAT, SeenTypes::NAN, SeenTypes::INFINITY];
        let is_number = self.has(SeenTypes::INT) || self.has(SeenTypes::BIG_INT) || self.has(SeenTypes::FLOAT);
        // NaN among dates or booleans is a NULL token (pandas writes it so).
        let rest = SeenTypes(self.0 & !SeenTypes::NAN.0);
        if rest.0 == 0 {
            DataType::Null
        } else if is_number && self.within(&numbers) {
            match (self.within(&[SeenTypes::INT]), self.within(&[SeenTypes::INT, SeenTypes::BIG_INT])) {
                (true, _) => DataType::Int64,
                (_, true) => DataType::Decimal128(38, 0),
                _ => DataType::Float64,
            }
        } else if rest == SeenTypes::BOOL {
            DataType::Boolean
        } else if rest == SeenTypes::DATE {
            DataType::Date32
        } else if rest == SeenTypes::TIME {
            DataType::Time64(TimeUnit::Microsecond)
        } else if rest == SeenTypes::TIMESTAMP_ZONED {
            DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
        } else if rest.within(&[SeenTypes::DATE, SeenTypes::TIMESTAMP]) {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        } else {
            DataType::Utf8View
        }
    }
}

/// Unquoted tokens that mean NULL in a column that is not VARCHAR.
pub fn is_soft_null(text: &str) -> bool {
    text.len() <= 4 && matches!(text, "" | "NA" | "N/A" | "n/a" | "NULL" | "null" | "Null" | "NaN" | "nan" | "\\N")
}

/// The flag of one value that is not NULL. [`super::leaf`] can parse every value with this flag.
pub fn classify(text: &str) -> SeenTypes {
    let text = text.trim_ascii();
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'0'..=b'9') if bytes.len() >= 8 && matches!(bytes[4], b'-') => classify_date(text),
        Some(b'0'..=b'9') if bytes.len() >= 8 && bytes[2] == b':' => classify_time(text),
        Some(b'0'..=b'9' | b'-' | b'.') => classify_number(text),
        Some(b't' | b'T' | b'f' | b'F') if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") => SeenTypes::BOOL,
        Some(b'n' | b'N') if text.eq_ignore_ascii_case("nan") => SeenTypes::NAN,
        Some(b'i' | b'I') if is_infinity(text) => SeenTypes::INFINITY,
        _ => SeenTypes::TEXT,
    }
}

fn is_infinity(text: &str) -> bool {
    text.eq_ignore_ascii_case("inf") || text.eq_ignore_ascii_case("infinity")
}

fn classify_number(text: &str) -> SeenTypes {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit() {
        return SeenTypes::TEXT;
    }
    if digits.iter().all(u8::is_ascii_digit) && !digits.is_empty() {
        return match (text.parse::<i64>(), digits.len()) {
            (Ok(_), _) => SeenTypes::INT,
            (Err(_), 0..=38) => SeenTypes::BIG_INT,
            _ => SeenTypes::TEXT,
        };
    }
    if is_infinity(text.strip_prefix('-').unwrap_or(text)) {
        return SeenTypes::INFINITY;
    }
    let starts_right = matches!(digits.first(), Some(b'0'..=b'9' | b'.'));
    match starts_right && Float64Type::parse(text).is_some_and(f64::is_finite) {
        true => SeenTypes::FLOAT,
        false => SeenTypes::TEXT,
    }
}

fn classify_date(text: &str) -> SeenTypes {
    let bytes = text.as_bytes();
    let is_date = |date: &str| date.len() == 10 && date.as_bytes()[7] == b'-' && Date32Type::parse(date).is_some();
    if bytes.len() == 10 {
        return if is_date(text) { SeenTypes::DATE } else { SeenTypes::TEXT };
    }
    let is_timestamp = bytes.len() >= 16
        && matches!(bytes[10], b'T' | b' ')
        && text.is_char_boundary(10)
        && is_date(&text[..10])
        && !is_too_fine(&text[11..]);
    match is_timestamp && is_instant(text) {
        false => SeenTypes::TEXT,
        true if has_zone(&text[11..]) => SeenTypes::TIMESTAMP_ZONED,
        true => SeenTypes::TIMESTAMP,
    }
}

/// Seconds since the epoch and the nanoseconds after them. Without an offset the text is in `zone`;
/// without seconds they are zero.
pub fn parse_instant(zone: &Tz, text: &str) -> Option<(i64, u32)> {
    const WITHOUT_SECONDS: usize = "2013-01-31 10:00".len();
    let padded;
    let text = if text.len() == WITHOUT_SECONDS && text.as_bytes()[13] == b':' {
        padded = format!("{text}:00");
        &padded
    } else {
        text
    };
    let instant = string_to_datetime(zone, text).ok()?;
    Some((instant.timestamp(), instant.timestamp_subsec_nanos()))
}

fn is_instant(text: &str) -> bool {
    // Parsing this zone cannot fail.
    "+00:00".parse().is_ok_and(|utc: Tz| parse_instant(&utc, text).is_some())
}

fn has_zone(time: &str) -> bool {
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}

fn is_too_fine(time: &str) -> bool {
    let Some((_, fraction)) = time.split_once('.') else { return false };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit);
    digits.skip(6).any(|digit| digit != b'0')
}

fn classify_time(text: &str) -> SeenTypes {
    use arrow::datatypes::Time64MicrosecondType;
    let is_shape =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.')) && text.len() >= 8 && text.as_bytes()[5] == b':';
    match is_shape && !is_too_fine(text) && Time64MicrosecondType::parse(text).is_some() {
        true => SeenTypes::TIME,
        false => SeenTypes::TEXT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer(values: &[&str]) -> DataType {
        let mut types = SeenTypes::default();
        for value in values.iter().filter(|value| !is_soft_null(value) || **value == "NaN") {
            types.add(classify(value));
        }
        types.data_type()
    }

    #[test]
    fn types_follow_from_values() {
        let micros = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        assert_eq!(infer(&["1", "-20", "NA"]), DataType::Int64);
        assert_eq!(infer(&["1", "2.5", ".5", "1e3"]), DataType::Float64);
        assert_eq!(infer(&["1", "NaN"]), DataType::Float64);
        assert_eq!(infer(&["True", "false", "NaN"]), DataType::Boolean);
        assert_eq!(infer(&["12345678901234567890", "1"]), DataType::Decimal128(38, 0));
        assert_eq!(infer(&["2013-02-28", "NULL"]), DataType::Date32);
        assert_eq!(infer(&["2013-02-28", "2013-02-28 10:00"]), micros(None));
        assert_eq!(infer(&["2013-02-28T10:00:00Z"]), micros(Some(UTC)));
        assert_eq!(infer(&["1000-02-28T10:00:00"]), micros(None));
        assert_eq!(infer(&["10:00:00"]), DataType::Time64(TimeUnit::Microsecond));
        assert_eq!(infer(&["NA", ""]), DataType::Null);
    }

    #[test]
    fn what_would_lose_something_stays_text() {
        for value in [
            "00501",
            "+49123",
            "2013-02-30",
            "2013-02-28 10:00:00.123456789",
            "1_000",
            "-",
            ".",
            "2013-02-28T10:00:00Zebra",
            "1e999",
            "inf",
            "0x10",
            "1 2",
            "25:00:00",
            "2013-1-1x",
        ] {
            assert!(matches!(infer(&[value]), DataType::Utf8View), "{value}");
        }
        assert_eq!(infer(&["2013-02-28", "5"]), DataType::Utf8View);
        assert_eq!(infer(&["2013-02-28T10:00:00", "2013-02-28T10:00:00Z"]), DataType::Utf8View);
    }
}
