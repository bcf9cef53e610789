//! Writes a time by a pattern.

use std::fmt::Write;

use super::Civil;
use super::items::{DAYS, Field, Fill, Item, Letters, MONTHS, ROMAN};

/// The longest name of a month or a day.
const NAME_WIDTH: usize = 9;
const ROMAN_WIDTH: usize = 4;

pub fn write(items: &[Item], at: &Civil) -> String {
    let mut text = String::new();
    for item in items {
        match item {
            Item::Text(said) => text.push_str(said),
            Item::Separator(char) => text.push(*char),
            Item::Field { field, fill, ordinal } => {
                let start = text.len();
                field_text(&mut text, *field, *fill, at);
                if let Some(letters) = ordinal {
                    let ending = ordinal_of(text[start..].trim());
                    text.push_str(&with_letters(ending, *letters));
                }
            }
        }
    }
    text
}

fn field_text(text: &mut String, field: Field, fill: Fill, at: &Civil) {
    // Years before Christ are counted from 1.
    let year = if at.year > 0 { at.year } else { 1 - at.year };
    let half_day = at.second_of_day / 43_200;
    let (iso_year, iso_week) = at.iso_week();
    match field {
        Field::Year(digits) => last_digits(text, year, digits, fill),
        Field::IsoYear(digits) => last_digits(text, iso_year, digits, fill),
        Field::YearWithComma => {
            let _ = write!(text, "{},{:03}", year / 1_000, year % 1_000);
        }
        Field::Century => {
            let century = if at.year > 0 { (at.year + 99) / 100 } else { -(year + 99) / 100 };
            number(text, century, 2, fill);
        }
        Field::Quarter => number(text, (at.month - 1) / 3 + 1, 1, fill),
        Field::Month => number(text, at.month, 2, fill),
        Field::MonthName(letters) => name(text, MONTHS[at.month as usize - 1], letters, NAME_WIDTH, fill),
        Field::MonthShort(letters) => name(text, &MONTHS[at.month as usize - 1][..3], letters, 0, fill),
        Field::MonthRoman(letters) => name(text, ROMAN[at.month as usize - 1], upper_or_lower(letters), ROMAN_WIDTH, fill),
        Field::Day => number(text, at.day, 2, fill),
        Field::DayOfYear => number(text, at.day_of_year(), 3, fill),
        Field::IsoDayOfYear => number(text, (iso_week - 1) * 7 + at.iso_weekday(), 3, fill),
        Field::DayName(letters) => name(text, DAYS[at.weekday() as usize], letters, NAME_WIDTH, fill),
        Field::DayShort(letters) => name(text, &DAYS[at.weekday() as usize][..3], letters, 0, fill),
        Field::DayOfWeek => number(text, at.weekday() + 1, 1, fill),
        Field::IsoDayOfWeek => number(text, at.iso_weekday(), 1, fill),
        Field::WeekOfMonth => number(text, (at.day - 1) / 7 + 1, 1, fill),
        Field::WeekOfYear => number(text, (at.day_of_year() - 1) / 7 + 1, 2, fill),
        Field::IsoWeek => number(text, iso_week, 2, fill),
        Field::JulianDay => number(text, at.julian_day(), 1, fill),
        Field::Hour24 => number(text, at.second_of_day / 3_600, 2, fill),
        Field::Hour12 => number(text, (at.second_of_day / 3_600 + 11) % 12 + 1, 2, fill),
        Field::Minute => number(text, at.second_of_day / 60 % 60, 2, fill),
        Field::Second => number(text, at.second_of_day % 60, 2, fill),
        Field::SecondOfDay => number(text, at.second_of_day, 1, fill),
        Field::Fraction(digits) => {
            let unit = 10i64.pow(9 - u32::from(digits));
            number(text, at.nanosecond / unit, usize::from(digits), Fill::Full);
        }
        Field::HalfDay(letters, has_dots) => marked(text, ["AM", "PM"][half_day as usize], letters, has_dots),
        Field::Era(letters, has_dots) => marked(text, if at.year > 0 { "AD" } else { "BC" }, letters, has_dots),
        Field::ZoneHour => signed(text, at.offset_seconds, at.offset_seconds.abs() / 3_600),
        Field::ZoneMinute => number(text, at.offset_seconds.abs() / 60 % 60, 2, Fill::Full),
        Field::ZoneOffset => {
            signed(text, at.offset_seconds, at.offset_seconds.abs() / 3_600);
            let minutes = at.offset_seconds.abs() / 60 % 60;
            if minutes != 0 {
                let _ = write!(text, ":{minutes:02}");
            }
        }
    }
}

fn number(text: &mut String, value: i64, width: usize, fill: Fill) {
    let width = if fill == Fill::Full { width } else { 0 };
    let width = if value < 0 { width + 1 } else { width };
    let _ = write!(text, "{value:0width$}");
}

fn last_digits(text: &mut String, year: i64, digits: u8, fill: Fill) {
    let shown = if digits < 4 { year % 10i64.pow(u32::from(digits)) } else { year };
    number(text, shown, usize::from(digits), fill);
}

fn signed(text: &mut String, sign: i64, value: i64) {
    let _ = write!(text, "{}{value:02}", if sign < 0 { '-' } else { '+' });
}

fn name(text: &mut String, name: &str, letters: Letters, width: usize, fill: Fill) {
    let width = if fill == Fill::Full { width } else { 0 };
    let _ = write!(text, "{:<width$}", with_letters(name, letters));
}

fn marked(text: &mut String, mark: &str, letters: Letters, has_dots: bool) {
    for letter in with_letters(mark, upper_or_lower(letters)).chars() {
        text.push(letter);
        text.push_str(if has_dots { "." } else { "" });
    }
}

fn upper_or_lower(letters: Letters) -> Letters {
    if letters == Letters::Lower { Letters::Lower } else { Letters::Upper }
}

fn with_letters(name: &str, letters: Letters) -> String {
    match letters {
        Letters::Upper => name.to_uppercase(),
        Letters::Lower => name.to_lowercase(),
        Letters::Capital => name.to_string(),
    }
}

fn ordinal_of(digits: &str) -> &'static str {
    let mut last = digits.bytes().rev();
    match (last.next(), last.next()) {
        (_, Some(b'1')) => "th",
        (Some(b'1'), _) => "st",
        (Some(b'2'), _) => "nd",
        (Some(b'3'), _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{days_of, items};
    use super::*;

    fn written(pattern: &str) -> String {
        let seconds = days_of(2024, 3, 5) * 86_400 + 15 * 3_600 + 4 * 60 + 9;
        write(&items(pattern).unwrap(), &Civil::new(seconds, 123_456_789, -19_800))
    }

    #[test]
    fn fields_are_written_as_postgresql_writes_them() {
        for (pattern, expected) in [
            ("YYYY-MM-DD HH24:MI:SS", "2024-03-05 15:04:09"),
            ("yyyy/mm/dd hh12:mi:ss.ms am", "2024/03/05 03:04:09.123 pm"),
            ("US FF1 SSSS P.M.", "123456 1 54249 P.M."),
            ("Month|MONTH|month|FMMonth", "March    |MARCH    |march    |March"),
            ("Mon Dy FMDay DD FMDDth FMDDTH", "Mar Tue Tuesday 05 5th 5TH"),
            ("Y,YYY YYY YY Y", "2,024 024 24 4"),
            ("DDD D ID W WW IW IYYY Q J CC", "065 3 2 1 10 10 2024 1 2460375 21"),
            ("\"Week\" IW \\\" RM FMrm BC", "Week 10 \" III  iii AD"),
            ("TZH:TZM OF", "-05:30 -05:30"),
            ("", ""),
        ] {
            assert_eq!(written(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn years_before_christ_are_counted_from_one() {
        let at = Civil::new(days_of(0, 12, 31) * 86_400, 0, 0);
        assert_eq!(write(&items("YYYY-MM-DD BC").unwrap(), &at), "0001-12-31 BC");
    }
}
