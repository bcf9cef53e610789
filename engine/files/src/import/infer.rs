//! Infers the type of a column of texts.
//!
//! Every value sets a flag; at the end the flags of a column decide:
//!
//! | values seen | type |
//! |---|---|
//! | `true`, `false` in any case; `yes` and `no`, `y` and `n` or `t` and `f`, if both were seen | BOOLEAN |
//! | integers without leading zeros or `+` | BIGINT; DECIMAL(38,0) beyond 64 bits |
//! | integers and numbers with a point or an exponent, `NaN`, `inf` | DOUBLE |
//! | `2013-01-31` | DATE |
//! | `2013-01-31 10:00:00.123456`, also with `T`, and dates among them | TIMESTAMP |
//! | the same, all with `Z` or an offset | TIMESTAMP WITH TIME ZONE |
//! | `31/01/2024`, `31.1.2024 10:00`, `2024/01/31`, if only one order of day, month and year fits all values | DATE or TIMESTAMP |
//! | `10:00:00`, `9:00:00` | TIME |
//! | anything else, or a mix | VARCHAR |
//!
//! A timestamp finer than a microsecond makes the column TIMESTAMP(9), if all of them are in the years that it has.
//! `00501`, `+49…` and a timestamp finer than a nanosecond are VARCHAR: as a number or a timestamp
//! they would lose something. The tokens of [`is_soft_null`] do not count, so a column of numbers
//! and `NA` is a column of numbers with NULLs; in a VARCHAR column they stay text.

mod other_dates;

use arrow::array::timezone::Tz;
use arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use arrow::datatypes::{DataType, Date32Type, Float64Type, TimeUnit};

pub use self::other_dates::{DateOrder, iso_date};
use self::other_dates::{classify_other_date, has_three_parts};

pub const UTC: &str = "UTC";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenTypes(u32);

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
    /// Beside TIMESTAMP and TIMESTAMP_ZONED: finer than a microsecond.
    const NANOS: SeenTypes = SeenTypes(1 << 11);
    /// Beside DATE, TIMESTAMP and TIMESTAMP_ZONED: in a year that TIMESTAMP(9) does not have.
    const FAR: SeenTypes = SeenTypes(1 << 12);
    /// A date or a timestamp in another notation than ISO 8601, beside the orders of its parts that do not fit.
    const OTHER_DATE: SeenTypes = SeenTypes(1 << 13);
    const OTHER_TIMESTAMP: SeenTypes = SeenTypes(1 << 14);
    const NOT_YEAR_FIRST: SeenTypes = SeenTypes(1 << 15);
    const NOT_DAY_FIRST: SeenTypes = SeenTypes(1 << 16);
    const NOT_MONTH_FIRST: SeenTypes = SeenTypes(1 << 17);
    /// `yes` and the like, which are texts unless the other word comes, too.
    const YES: SeenTypes = SeenTypes(1 << 18);
    const NO: SeenTypes = SeenTypes(1 << 19);

    pub fn add(&mut self, other: SeenTypes) {
        self.0 |= other.0;
    }

    fn with(self, other: SeenTypes) -> SeenTypes {
        SeenTypes(self.0 | other.0)
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

    pub fn is_number(self) -> bool {
        self.0 != 0 && self.within(&[SeenTypes::INT, SeenTypes::BIG_INT, SeenTypes::FLOAT, SeenTypes::NAN, SeenTypes::INFINITY])
    }

    pub fn has_fractions_only(self) -> bool {
        self.has(SeenTypes::FLOAT) && self.is_number() && !self.has(SeenTypes::INT) && !self.has(SeenTypes::BIG_INT)
    }

    /// Whether some value was seen, and all of them have a type other than VARCHAR.
    pub fn is_typed(self) -> bool {
        !matches!(self.data_type(), DataType::Null | DataType::Utf8View)
    }

    /// A text that could be a name: a word like `no` is one, too.
    pub fn is_word(self) -> bool {
        matches!(self, SeenTypes::TEXT | SeenTypes::YES | SeenTypes::NO)
    }

    /// The types without what only decides whether TIMESTAMP(9) has the year.
    pub fn in_any_year(self) -> SeenTypes {
        SeenTypes(self.0 & !SeenTypes::FAR.0)
    }

    /// The order of day, month and year, if the values are dates in another notation and only one order fits them.
    pub fn date_order(self) -> Option<DateOrder> {
        if !self.has(SeenTypes::OTHER_DATE) && !self.has(SeenTypes::OTHER_TIMESTAMP) {
            return None;
        }
        let mut fitting = [
            (SeenTypes::NOT_YEAR_FIRST, DateOrder::YearFirst),
            (SeenTypes::NOT_DAY_FIRST, DateOrder::DayFirst),
            (SeenTypes::NOT_MONTH_FIRST, DateOrder::MonthFirst),
        ]
        .into_iter()
        .filter(|(unfit, _)| !self.has(*unfit));
        match (fitting.next(), fitting.next()) {
            (Some((_, order)), None) => Some(order),
            _ => None,
        }
    }

    fn timestamp(self, zone: Option<&str>) -> DataType {
        match (self.has(SeenTypes::NANOS), self.has(SeenTypes::FAR)) {
            (true, true) => DataType::Utf8View,
            (true, false) => DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into)),
            (false, _) => DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into)),
        }
    }

    /// The type of dates in another notation.
    fn other_dates(self) -> DataType {
        match (self.date_order(), self.has(SeenTypes::OTHER_TIMESTAMP)) {
            (None, _) => DataType::Utf8View,
            (Some(_), true) => DataType::Timestamp(TimeUnit::Microsecond, None),
            (Some(_), false) => DataType::Date32,
        }
    }

    /// `Null` when no value was seen: such a column takes the type it has in other files.
    pub fn data_type(self) -> DataType {
        let numbers = [SeenTypes::INT, SeenTypes::BIG_INT, SeenTypes::FLOAT, SeenTypes::NAN, SeenTypes::INFINITY];
        let is_number = self.has(SeenTypes::INT) || self.has(SeenTypes::BIG_INT) || self.has(SeenTypes::FLOAT);
        let others = [
            SeenTypes::OTHER_DATE,
            SeenTypes::OTHER_TIMESTAMP,
            SeenTypes::NOT_YEAR_FIRST,
            SeenTypes::NOT_DAY_FIRST,
            SeenTypes::NOT_MONTH_FIRST,
        ];
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
        } else if rest == SeenTypes::BOOL
            || rest.within(&[SeenTypes::BOOL, SeenTypes::YES, SeenTypes::NO]) && rest.has(SeenTypes::YES) && rest.has(SeenTypes::NO)
        {
            DataType::Boolean
        } else if rest.in_any_year() == SeenTypes::DATE {
            DataType::Date32
        } else if rest == SeenTypes::TIME {
            DataType::Time64(TimeUnit::Microsecond)
        } else if rest.within(&[SeenTypes::TIMESTAMP_ZONED, SeenTypes::NANOS, SeenTypes::FAR]) {
            rest.timestamp(Some(UTC))
        } else if rest.within(&[SeenTypes::DATE, SeenTypes::TIMESTAMP, SeenTypes::NANOS, SeenTypes::FAR]) {
            rest.timestamp(None)
        } else if rest.within(&others) {
            rest.other_dates()
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
        Some(b'0'..=b'9') if bytes.len() >= 8 && bytes[4] == b'-' && bytes[..4].iter().all(u8::is_ascii_digit) => classify_date(text),
        Some(b'0'..=b'9') if bytes.len() >= 7 && bytes[1..3].contains(&b':') => classify_time(text),
        Some(b'0'..=b'9') if has_three_parts(bytes) => classify_other_date(text),
        Some(b'0'..=b'9' | b'-' | b'.') => classify_number(text),
        Some(b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'n' | b'N') if bytes.len() <= "false".len() => classify_word(text),
        Some(b'i' | b'I') if is_infinity(text) => SeenTypes::INFINITY,
        _ => SeenTypes::TEXT,
    }
}

fn classify_word(text: &str) -> SeenTypes {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["true", "false"]) {
        SeenTypes::BOOL
    } else if is(&["nan"]) {
        SeenTypes::NAN
    } else if is(&["yes", "y", "t"]) {
        SeenTypes::YES
    } else if is(&["no", "n", "f"]) {
        SeenTypes::NO
    } else {
        SeenTypes::TEXT
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
    let far = if ("1678"..="2261").contains(&&text[..4]) { SeenTypes::default() } else { SeenTypes::FAR };
    if bytes.len() == 10 {
        return if is_date(text) { SeenTypes::DATE.with(far) } else { SeenTypes::TEXT };
    }
    let is_timestamp = bytes.len() >= 16
        && matches!(bytes[10], b'T' | b' ')
        && text.is_char_boundary(10)
        && is_date(&text[..10])
        && !is_finer_than(9, &text[11..]);
    let nanos = if is_timestamp && is_finer_than(6, &text[11..]) { SeenTypes::NANOS } else { SeenTypes::default() };
    match is_timestamp && is_instant(text) {
        false => SeenTypes::TEXT,
        true if has_zone(&text[11..]) => SeenTypes::TIMESTAMP_ZONED.with(far).with(nanos),
        true => SeenTypes::TIMESTAMP.with(far).with(nanos),
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

/// Whether the fraction of the seconds has more than so many digits.
fn is_finer_than(digits: usize, time: &str) -> bool {
    let Some((_, fraction)) = time.split_once('.') else { return false };
    fraction.bytes().take_while(u8::is_ascii_digit).skip(digits).any(|digit| digit != b'0')
}

fn classify_time(text: &str) -> SeenTypes {
    use arrow::datatypes::Time64MicrosecondType;
    let hour = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_shape =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.')) && text.as_bytes().get(hour + 3) == Some(&b':');
    match is_shape && !is_finer_than(6, text) && Time64MicrosecondType::parse(text).is_some() {
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
        assert_eq!(infer(&["10:00:00", "4:10:00"]), DataType::Time64(TimeUnit::Microsecond));
        assert_eq!(infer(&["NA", ""]), DataType::Null);
    }

    #[test]
    fn what_would_lose_something_stays_text() {
        for value in [
            "00501",
            "+49123",
            "2013-02-30",
            "2013-02-28 10:00:00.1234567891",
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

    #[test]
    fn a_timestamp_of_nanoseconds_keeps_them_if_its_type_has_all_years() {
        let fine = "2013-02-28 10:00:00.123456789";
        assert_eq!(infer(&[fine, "2013-02-28"]), DataType::Timestamp(TimeUnit::Nanosecond, None));
        assert_eq!(infer(&["2013-02-28T10:00:00.123456789Z"]), DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())));
        assert_eq!(infer(&[fine, "9999-12-31"]), DataType::Utf8View);
        assert_eq!(infer(&["9999-12-31"]), DataType::Date32);
    }

    #[test]
    fn a_column_decides_the_order_of_its_dates() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(infer(&["31/01/2024", "1/5/2024"]), DataType::Date32);
        assert_eq!(infer(&["01/31/2024", "1/5/2024"]), DataType::Date32);
        assert_eq!(infer(&["2024/01/31", "2024/5/1"]), DataType::Date32);
        assert_eq!(infer(&["31.1.2024 9:05", "1.2.2024"]), micros);
        for values in [["1/5/2024", "2/6/2024"], ["31/01/2024", "01/31/2024"], ["31/02/2024", "1/1/2024"], ["31/01/2024", "2024-01-31"]] {
            assert_eq!(infer(&values), DataType::Utf8View, "{values:?}");
        }
        assert_eq!(infer(&["1.2.3"]), DataType::Utf8View);
        let mut types = classify("31/01/2024");
        types.add(classify("1/5/2024"));
        assert_eq!(types.date_order(), Some(DateOrder::DayFirst));
        assert_eq!(iso_date("1/5/2024", DateOrder::DayFirst).as_deref(), Some("2024-05-01"));
        assert_eq!(iso_date("31.1.2024 9:05", DateOrder::DayFirst).as_deref(), Some("2024-01-31 09:05"));
    }

    #[test]
    fn yes_and_no_are_truth_values_if_both_are_there() {
        assert_eq!(infer(&["yes", "No", "NA"]), DataType::Boolean);
        assert_eq!(infer(&["t", "f", "true"]), DataType::Boolean);
        for values in [["F", "F"], ["yes", "maybe"], ["true", "y"]] {
            assert_eq!(infer(&values), DataType::Utf8View, "{values:?}");
        }
    }
}
