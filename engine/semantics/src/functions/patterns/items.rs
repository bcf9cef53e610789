//! Parses patterns into items.

use datafusion::common::Result;

use common::error::EngineError;

/// One item of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Literal text.
    Text(String),
    /// A character that is neither a letter nor a digit.
    Separator(char),
    Field {
        field: Field,
        fill: Fill,
        ordinal: Option<Letters>,
    },
}

/// Whether zeros and blanks pad a field to its width; FM switches that off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    Full,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    Upper,
    Capital,
    Lower,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The last so many digits of the year.
    Year(u8),
    YearWithComma,
    IsoYear(u8),
    Century,
    Quarter,
    Month,
    MonthName(Letters),
    MonthShort(Letters),
    MonthRoman(Letters),
    Day,
    DayOfYear,
    IsoDayOfYear,
    DayName(Letters),
    DayShort(Letters),
    /// Sunday is 1.
    DayOfWeek,
    /// Monday is 1.
    IsoDayOfWeek,
    WeekOfMonth,
    WeekOfYear,
    IsoWeek,
    JulianDay,
    Hour12,
    Hour24,
    Minute,
    Second,
    /// The first so many digits of the fraction.
    Fraction(u8),
    SecondOfDay,
    HalfDay(Letters, bool),
    Era(Letters, bool),
    ZoneHour,
    ZoneMinute,
    ZoneOffset,
}

/// Longer names stand before their prefixes. In lower case, because most are accepted in any case.
const FIELDS: &[(&str, Field)] = &[
    ("hh24", Field::Hour24),
    ("hh12", Field::Hour12),
    ("hh", Field::Hour12),
    ("mi", Field::Minute),
    ("sssss", Field::SecondOfDay),
    ("ssss", Field::SecondOfDay),
    ("ss", Field::Second),
    ("ms", Field::Fraction(3)),
    ("us", Field::Fraction(6)),
    ("ff1", Field::Fraction(1)),
    ("ff2", Field::Fraction(2)),
    ("ff3", Field::Fraction(3)),
    ("ff4", Field::Fraction(4)),
    ("ff5", Field::Fraction(5)),
    ("ff6", Field::Fraction(6)),
    ("y,yyy", Field::YearWithComma),
    ("yyyy", Field::Year(4)),
    ("yyy", Field::Year(3)),
    ("yy", Field::Year(2)),
    ("y", Field::Year(1)),
    ("iddd", Field::IsoDayOfYear),
    ("iyyy", Field::IsoYear(4)),
    ("iyy", Field::IsoYear(3)),
    ("iy", Field::IsoYear(2)),
    ("iw", Field::IsoWeek),
    ("id", Field::IsoDayOfWeek),
    ("i", Field::IsoYear(1)),
    ("mm", Field::Month),
    ("ddd", Field::DayOfYear),
    ("dd", Field::Day),
    ("d", Field::DayOfWeek),
    ("ww", Field::WeekOfYear),
    ("w", Field::WeekOfMonth),
    ("cc", Field::Century),
    ("j", Field::JulianDay),
    ("q", Field::Quarter),
    ("tzh", Field::ZoneHour),
    ("tzm", Field::ZoneMinute),
    ("of", Field::ZoneOffset),
];

type Named = fn(Letters) -> Field;

/// Written with the capitals of the pattern.
const NAMES: &[(&str, Named)] = &[
    ("month", Field::MonthName),
    ("mon", Field::MonthShort),
    ("rm", Field::MonthRoman),
    ("day", Field::DayName),
    ("dy", Field::DayShort),
    ("a.m.", |letters| Field::HalfDay(letters, true)),
    ("p.m.", |letters| Field::HalfDay(letters, true)),
    ("am", |letters| Field::HalfDay(letters, false)),
    ("pm", |letters| Field::HalfDay(letters, false)),
    ("b.c.", |letters| Field::Era(letters, true)),
    ("a.d.", |letters| Field::Era(letters, true)),
    ("bc", |letters| Field::Era(letters, false)),
    ("ad", |letters| Field::Era(letters, false)),
];

/// The items of a pattern.
///
/// # Errors
///
/// Letters without a meaning outside of double quotes; the message has their position.
pub fn items(pattern: &str) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (text, after) = quoted(&rest[1..]).ok_or_else(|| refused(pattern, "a double quote has no end"))?;
            items.push(Item::Text(text));
            rest = after;
            continue;
        }
        if !first.is_alphanumeric() {
            // A backslash escapes a quote.
            let is_quote = rest.starts_with("\\\"");
            items.push(if is_quote { Item::Text("\"".to_string()) } else { Item::Separator(first) });
            rest = &rest[if is_quote { 2 } else { first.len_utf8() }..];
            continue;
        }
        let has_fill = starts(rest, "fm") || starts(rest, "tm");
        let fill = if has_fill { Fill::None } else { Fill::Full };
        let word = if has_fill { &rest[2..] } else { rest };
        let Some((field, length)) = field_at(word) else {
            let shown: String = word.chars().take_while(|char| char.is_alphanumeric()).collect();
            return Err(refused(pattern, &format!("\"{shown}\" is none of PostgreSQL's patterns of dates and times")));
        };
        rest = &word[length..];
        let ordinal = starts(rest, "th").then(|| if rest.starts_with("TH") { Letters::Upper } else { Letters::Lower });
        rest = if ordinal.is_some() { &rest[2..] } else { rest };
        items.push(Item::Field { field, fill, ordinal });
    }
    Ok(items)
}

pub fn starts(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn field_at(text: &str) -> Option<(Field, usize)> {
    let name = NAMES.iter().find(|(name, _)| starts(text, name)).map(|(name, field)| {
        let said = &text[..name.len()];
        let mut letters = said.chars().filter(|char| char.is_alphabetic()).map(char::is_uppercase);
        let letters = match (letters.next(), letters.next()) {
            (Some(true), Some(false)) => Letters::Capital,
            (Some(true), _) => Letters::Upper,
            _ => Letters::Lower,
        };
        (field(letters), name.len())
    });
    name.or_else(|| FIELDS.iter().find(|(name, _)| starts(text, name)).map(|(name, field)| (*field, name.len())))
}

/// The text before the closing quote, and the rest behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut made = String::new();
    let mut chars = text.char_indices();
    while let Some((place, char)) = chars.next() {
        match char {
            '"' => return Some((made, &text[place + 1..])),
            '\\' => made.push(chars.next()?.1),
            char => made.push(char),
        }
    }
    None
}

fn refused(pattern: &str, what: &str) -> datafusion::common::DataFusionError {
    let hint = "there are YYYY, MM, DD, HH24, HH12, MI, SS, MS, US, AM, Month, Mon, Day, Dy, DDD, D, IW, Q, J and others of PostgreSQL; \
                put words in double quotes, as YYYY\"th year\"";
    let message = format!("the pattern '{pattern}' cannot be used: {what}");
    EngineError::Sql { message, position: None, hint: Some(hint.to_string()) }.into_datafusion()
}

pub const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// Sunday first.
pub const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_mean_nothing_are_refused() {
        for pattern in ["YYYY-MM-DDTXX", "abc", "YYYY \"open", "HH25", "TZ", "FMx"] {
            assert!(items(pattern).is_err(), "{pattern}");
        }
        for pattern in ["", "YYYY-MM-DD\"T\"HH24:MI:SS.US", "FMMonth DDth, YYYY", "yyyy/mm/dd", "Q \\\"", "A.M. HH12"] {
            items(pattern).unwrap();
        }
    }
}
