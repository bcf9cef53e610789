//! Parses a text as a time.

use super::civil::{days_of_julian, month_days};
use super::items::{DAYS, Field, Fill, Item, MONTHS, ROMAN, starts};
use super::{Civil, days_of};

/// Beyond the range of every type.
const YEARS_MAX: i64 = 300_000_000;

/// The fields that have been parsed so far.
#[derive(Default)]
struct ParsedFields {
    year: Option<i64>,
    is_before_christ: bool,
    century: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_weekday: Option<i64>,
    week: Option<i64>,
    hour: Option<i64>,
    is_hour12: bool,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    nanosecond: i64,
    second_of_day: Option<i64>,
    zone: Option<(i64, i64)>,
}

/// Parses the text by the pattern, and says whether the text has an offset from UTC. The error says what is wrong.
pub fn read(items: &[Item], text: &str) -> Result<(Civil, bool), String> {
    let mut found = ParsedFields::default();
    let mut rest = text.trim_start();
    for (place, item) in items.iter().enumerate() {
        match item {
            Item::Text(said) => {
                let mut chars = rest.chars();
                said.chars().for_each(|_| {
                    chars.next();
                });
                rest = chars.as_str();
            }
            // A separator matches any other one, or none.
            Item::Separator(_) => {
                let trimmed = rest.trim_start();
                let is_sign = trimmed.starts_with(['+', '-']) && is_zone(items.get(place + 1));
                let after = trimmed.strip_prefix(|char: char| !char.is_alphanumeric()).filter(|_| !is_sign);
                rest = after.unwrap_or(trimmed);
            }
            Item::Field { field, fill, ordinal } => {
                rest = rest.trim_start();
                let is_free = *fill == Fill::None || !matches!(items.get(place + 1), Some(Item::Field { .. }));
                rest = found.take(*field, rest, is_free)?;
                if ordinal.is_some() {
                    rest = rest.get(2..).unwrap_or_default();
                }
            }
        }
    }
    match rest.trim() {
        "" => found.finished(),
        more => Err(format!("'{more}' is left over")),
    }
}

fn is_zone(item: Option<&Item>) -> bool {
    matches!(item, Some(Item::Field { field: Field::ZoneHour | Field::ZoneOffset, .. }))
}

impl ParsedFields {
    /// Parses a field and returns the rest. If `is_free`, a number may have more digits than its pattern.
    fn take<'t>(&mut self, field: Field, text: &'t str, is_free: bool) -> Result<&'t str, String> {
        let digits = |width: usize| number(text, if is_free { usize::MAX } else { width });
        let rest = match field {
            Field::Year(width) => {
                let (year, length, rest) = digits(usize::from(width))?;
                self.year = Some(if width < 4 { near_2020(year, length) } else { year });
                rest
            }
            Field::YearWithComma => {
                let (thousands, _, rest) = number(text, 3)?;
                let (year, _, rest) = number(rest.strip_prefix(',').ok_or("a comma is missing in the year")?, 3)?;
                self.year = Some(thousands * 1_000 + year);
                rest
            }
            Field::IsoYear(width) => {
                let (year, length, rest) = digits(usize::from(width))?;
                self.iso_year = Some(if width < 4 { near_2020(year, length) } else { year });
                rest
            }
            Field::Century => keep(&mut self.century, within(digits(2)?, "century", 1, 9_999)?),
            // The quarter is read and ignored, as in PostgreSQL, because the month decides.
            Field::Quarter => within(digits(1)?, "quarter", 1, 4)?.1,
            Field::Month => keep(&mut self.month, within(digits(2)?, "month", 1, 12)?),
            Field::MonthName(_) => keep(&mut self.month, name(text, &MONTHS, None).ok_or_else(|| no_name(text, "month"))?),
            Field::MonthShort(_) => keep(&mut self.month, name(text, &MONTHS, Some(3)).ok_or_else(|| no_name(text, "month"))?),
            Field::MonthRoman(_) => {
                let longest = ROMAN.iter().enumerate().filter(|(_, roman)| starts(text, roman)).max_by_key(|(_, roman)| roman.len());
                let (month, roman) = longest.ok_or_else(|| no_name(text, "month"))?;
                self.month = Some(month as i64 + 1);
                &text[roman.len()..]
            }
            Field::Day => keep(&mut self.day, within(digits(2)?, "day", 1, 31)?),
            Field::DayOfYear => keep(&mut self.day_of_year, within(digits(3)?, "day of the year", 1, 366)?),
            Field::DayName(_) => name(text, &DAYS, None).ok_or_else(|| no_name(text, "day"))?.1,
            Field::DayShort(_) => name(text, &DAYS, Some(3)).ok_or_else(|| no_name(text, "day"))?.1,
            Field::DayOfWeek => within(digits(1)?, "day of the week", 1, 7)?.1,
            Field::IsoDayOfWeek => keep(&mut self.iso_weekday, within(digits(1)?, "day of the week", 1, 7)?),
            Field::IsoWeek => keep(&mut self.iso_week, within(digits(2)?, "week", 1, 53)?),
            Field::WeekOfYear => keep(&mut self.week, within(digits(2)?, "week", 1, 53)?),
            Field::JulianDay => keep(&mut self.julian, within(number(text, usize::MAX)?, "Julian day", 0, 1_000_000_000)?),
            Field::Hour24 => keep(&mut self.hour, within(digits(2)?, "hour", 0, 24)?),
            Field::Hour12 => {
                self.is_hour12 = true;
                keep(&mut self.hour, within(digits(2)?, "hour on a clock of 12", 1, 12)?)
            }
            Field::Minute => set(&mut self.minute, within(digits(2)?, "minute", 0, 59)?),
            Field::Second => set(&mut self.second, within(digits(2)?, "second", 0, 59)?),
            Field::SecondOfDay => keep(&mut self.second_of_day, within(digits(5)?, "second of the day", 0, 86_399)?),
            Field::Fraction(width) => {
                let width = if is_free { 9 } else { usize::from(width) };
                let (value, length, rest) = number(text, width)?;
                self.nanosecond = value * 10i64.pow(9 - length as u32);
                rest
            }
            Field::HalfDay(..) => {
                let (is_afternoon, rest) = mark(text, "am", "pm").ok_or_else(|| no_name(text, "half of the day"))?;
                self.is_afternoon = Some(is_afternoon);
                rest
            }
            Field::Era(..) => {
                let (is_before, rest) = mark(text, "ad", "bc").ok_or_else(|| no_name(text, "era"))?;
                self.is_before_christ = is_before;
                rest
            }
            Field::ZoneHour | Field::ZoneOffset => {
                let sign = if text.starts_with('-') { -1 } else { 1 };
                let (hours, _, rest) = number(text.trim_start_matches(['+', '-']), 2)?;
                self.zone = Some((sign, hours * 3_600));
                match rest.strip_prefix(':').filter(|_| field == Field::ZoneOffset) {
                    Some(rest) => self.zone_minutes(rest)?,
                    None => rest,
                }
            }
            Field::ZoneMinute => self.zone_minutes(text)?,
            Field::IsoDayOfYear | Field::WeekOfMonth => return Err("IDDD and W are written only, and not read".to_string()),
        };
        Ok(rest)
    }

    fn zone_minutes<'t>(&mut self, text: &'t str) -> Result<&'t str, String> {
        let (minutes, rest) = within(number(text, 2)?, "minute of the zone", 0, 59)?;
        let (sign, seconds) = self.zone.unwrap_or((1, 0));
        self.zone = Some((sign, seconds + minutes * 60));
        Ok(rest)
    }

    fn finished(self) -> Result<(Civil, bool), String> {
        let days = self.days()?;
        let mut hour = self.hour.unwrap_or_default();
        if self.is_hour12 || self.is_afternoon.is_some() {
            if hour > 12 {
                return Err(format!("{hour} is no hour on a clock of 12"));
            }
            hour = hour % 12 + if self.is_afternoon == Some(true) { 12 } else { 0 };
        }
        let second_of_day = self.second_of_day.unwrap_or(hour * 3_600 + self.minute * 60 + self.second);
        if second_of_day > 86_400 {
            return Err("the time is after 24:00:00".to_string());
        }
        let (sign, offset) = self.zone.unwrap_or((1, 0));
        Ok((Civil::new(days * 86_400 + second_of_day, self.nanosecond, sign * offset), self.zone.is_some()))
    }

    fn days(&self) -> Result<i64, String> {
        if let Some(julian) = self.julian {
            return Ok(days_of_julian(julian));
        }
        if let Some(year) = self.iso_year {
            let year = in_range(year)?;
            // The fourth of January is always in the first week.
            let fourth = Civil::new(days_of(year, 1, 4) * 86_400, 0, 0);
            let monday = fourth.days - fourth.iso_weekday() + 1;
            return Ok(monday + (self.iso_week.unwrap_or(1) - 1) * 7 + self.iso_weekday.unwrap_or(1) - 1);
        }
        let century = self.century.map(|century| (century - 1) * 100 + 1);
        let year = match (self.year, century) {
            (Some(year), Some(century)) if year < 100 => century - 1 + year,
            (year, century) => year.or(century).ok_or("the pattern says no year")?,
        };
        let year = in_range(if self.is_before_christ { 1 - year } else { year })?;
        if let Some(day) = self.day_of_year {
            let days = days_of(year, 1, 1) + day - 1;
            return if days < days_of(year + 1, 1, 1) { Ok(days) } else { Err(format!("{year} has no day {day}")) };
        }
        if let Some(week) = self.week {
            return Ok(days_of(year, 1, 1) + (week - 1) * 7);
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        match day <= month_days(year, month) {
            true => Ok(days_of(year, month, day)),
            false => Err(format!("{year}-{month:02} has no day {day}")),
        }
    }
}

fn in_range(year: i64) -> Result<i64, String> {
    if year.abs() > YEARS_MAX { Err(format!("the year {year} is out of range")) } else { Ok(year) }
}

fn keep<'t>(place: &mut Option<i64>, (value, rest): (i64, &'t str)) -> &'t str {
    *place = Some(value);
    rest
}

fn set<'t>(place: &mut i64, (value, rest): (i64, &'t str)) -> &'t str {
    *place = value;
    rest
}

/// A number of at most `width` digits, how many digits it has, and the rest.
fn number(text: &str, width: usize) -> Result<(i64, usize, &str), String> {
    let length = text.bytes().take(width.min(18)).take_while(u8::is_ascii_digit).count();
    match text[..length].parse() {
        Ok(value) => Ok((value, length, &text[length..])),
        Err(_) if text.is_empty() => Err("it is too short".to_string()),
        Err(_) => Err(format!("'{text}' does not begin with a number")),
    }
}

fn within<'t>((value, _, rest): (i64, usize, &'t str), what: &str, low: i64, high: i64) -> Result<(i64, &'t str), String> {
    match (low..=high).contains(&value) {
        true => Ok((value, rest)),
        false => Err(format!("{value} is no {what}")),
    }
}

/// The number of the name, from 1, and the rest.
fn name<'t>(text: &'t str, names: &[&str], width: Option<usize>) -> Option<(i64, &'t str)> {
    let place = names.iter().position(|name| starts(text, &name[..width.unwrap_or(name.len())]))?;
    Some((place as i64 + 1, &text[width.unwrap_or(names[place].len())..]))
}

/// Whether it is the second word, and the rest; the words may have dots.
fn mark<'t>(text: &'t str, first: &str, second: &str) -> Option<(bool, &'t str)> {
    let dotted = |mark: &str| format!("{}.{}.", &mark[..1], &mark[1..]);
    let marks = [(false, dotted(first)), (true, dotted(second)), (false, first.to_string()), (true, second.to_string())];
    marks.iter().find(|(_, mark)| starts(text, mark)).map(|(is_second, mark)| (*is_second, &text[mark.len()..]))
}

fn no_name(text: &str, what: &str) -> String {
    if text.is_empty() { "it is too short".to_string() } else { format!("'{text}' does not begin with the name of a {what}") }
}

/// A year of two digits is one near 2020, as in PostgreSQL.
fn near_2020(year: i64, digits: usize) -> i64 {
    match (digits, year) {
        (..=2, 0..70) => year + 2_000,
        (..=2, _) => year + 1_900,
        (3, 0..520) => year + 2_000,
        (3, _) => year + 1_000,
        _ => year,
    }
}

#[cfg(test)]
mod tests {
    use super::super::items;
    use super::*;

    fn found(pattern: &str, text: &str) -> Result<(i64, i64, i64, i64), String> {
        read(&items(pattern).unwrap(), text).map(|(at, _)| (at.year, at.month, at.day, at.second_of_day))
    }

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (pattern, text, expected) in [
            ("YYYY-MM-DD", "2024-05-06", (2024, 5, 6, 0)),
            ("YYYY-MM-DD", "2024/5/6", (2024, 5, 6, 0)),
            ("YYYYMMDD", "20240506", (2024, 5, 6, 0)),
            ("DD Mon YYYY", "06 may 2024", (2024, 5, 6, 0)),
            ("FMMonth DDth, YYYY", "May 6th, 2024", (2024, 5, 6, 0)),
            ("DD.MM.YY", "06.05.69", (2069, 5, 6, 0)),
            ("DD.MM.YY", "06.05.70", (1970, 5, 6, 0)),
            ("YYYY-DDD", "2024-366", (2024, 12, 31, 0)),
            ("IYYY-IW-ID", "2025-01-1", (2024, 12, 30, 0)),
            ("J", "2460437", (2024, 5, 6, 0)),
            ("YYYY-MM-DD HH24:MI:SS", "2024-05-06 23:59:58", (2024, 5, 6, 86_398)),
            ("YYYY-MM-DD HH12:MI AM", "2024-05-06 12:30 am", (2024, 5, 6, 1_800)),
            ("YYYY-MM-DD HH12:MI p.m.", "2024-05-06 01:30 P.M.", (2024, 5, 6, 48_600)),
            ("YYYY-MM-DD\"T\"HH24", "2024-05-06T07", (2024, 5, 6, 25_200)),
            ("YYYY BC", "44 BC", (-43, 1, 1, 0)),
        ] {
            assert_eq!(found(pattern, text), Ok(expected), "{pattern} {text}");
        }
    }

    #[test]
    fn fractions_have_the_digits_that_are_there() {
        let nanosecond = |pattern, text| read(&items(pattern).unwrap(), text).unwrap().0.nanosecond;
        assert_eq!(nanosecond("YYYY SS.MS", "2024 01.5"), 500_000_000);
        assert_eq!(nanosecond("YYYY SS.US", "2024 01.000123"), 123_000);
    }

    #[test]
    fn zones_are_kept() {
        let (at, has_zone) = read(&items("YYYY-MM-DD HH24:MITZH:TZM").unwrap(), "2024-05-06 12:00-05:30").unwrap();
        assert_eq!((at.offset_seconds, has_zone), (-19_800, true));
    }

    #[test]
    fn what_is_no_such_time_is_an_error() {
        for (pattern, text) in [
            ("YYYY-MM-DD", "2024-02-30"),
            ("YYYY-MM-DD", "2024-13-01"),
            ("YYYY-MM-DD", "2024"),
            ("YYYY-MM-DD", "abc"),
            ("YYYY-MM-DD", "2024-05-06 and more"),
            ("YYYY-DDD", "2023-366"),
            ("HH24:MI", "12:30"),
            ("YYYY HH24", "2024 25"),
            ("YYYY HH12", "2024 13"),
            ("DD Mon YYYY", "06 Foo 2024"),
            ("YYYY", "999999999999"),
        ] {
            assert!(found(pattern, text).is_err(), "{pattern} {text}");
        }
    }
}
