//! Parses interval text: `1 year 2 months`, `-3 days 04:05:06.7`, `1.5 weeks ago`, `1-2`, `P1Y2M3DT4H`, and `100` for seconds.

use arrow::datatypes::IntervalMonthDayNano;

const MONTH_DAYS: i128 = 30;
const WEEK_DAYS: i128 = 7;
pub const DAY_NANOSECONDS: i128 = 24 * HOUR;
pub const HOUR: i128 = 60 * MINUTE;
pub const MINUTE: i128 = 60 * SECOND;
pub const SECOND: i128 = 1_000_000_000;
/// Digits after the decimal point that are kept.
const FRACTION_DIGITS: usize = 18;
const FRACTION: i128 = 10i128.pow(FRACTION_DIGITS as u32);

/// The base unit of a unit, and how many of them it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Months(i128),
    Days(i128),
    Nanoseconds(i128),
}

/// `None` if the text is no interval, or one that is out of range.
pub fn interval_of_text(text: &str) -> Option<IntervalMonthDayNano> {
    let text = text.trim();
    let unsigned = text.trim_start_matches('-');
    if unsigned.starts_with(['P', 'p']) {
        let sign = if unsigned.len() < text.len() { -1 } else { 1 };
        return iso(unsigned.get(1..)?)?.times(sign).finished();
    }
    let mut words = words(text.strip_prefix('@').unwrap_or(text))?.into_iter().peekable();
    let mut sum = Sum::default();
    if matches!(words.peek()?, Word::Name(_)) {
        return None;
    }
    while let Some(word) = words.next() {
        match word {
            Word::Name(name) if name == "ago" && words.peek().is_none() => sum = sum.times(-1),
            Word::Name(_) => return None,
            Word::Clock(negative, clock) => sum.add(Number::whole(if negative { -clock } else { clock }), Unit::Nanoseconds(1))?,
            Word::Months(months) => sum.add(Number::whole(months), Unit::Months(1))?,
            Word::Number(number) => {
                let unit = match words.peek() {
                    Some(Word::Name(name)) if name != "ago" => unit(name)?,
                    // A bare number is in seconds; in front of a clock time, as in SQL's '1 12:00', it is in days.
                    Some(Word::Clock(..)) => {
                        sum.add(number, Unit::Days(1))?;
                        continue;
                    }
                    _ => {
                        sum.add(number, Unit::Nanoseconds(SECOND))?;
                        continue;
                    }
                };
                words.next();
                sum.add(number, unit)?;
            }
        }
    }
    sum.finished()
}

/// The units that PostgreSQL and DuckDB know, in lower case.
pub fn unit(name: &str) -> Option<Unit> {
    use Unit::{Days, Months, Nanoseconds};
    Some(match name {
        "ns" | "nanosecond" | "nanoseconds" => Nanoseconds(1),
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" | "µs" => Nanoseconds(1_000),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "msecond" | "mseconds" => Nanoseconds(1_000_000),
        "s" | "sec" | "secs" | "second" | "seconds" => Nanoseconds(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Nanoseconds(MINUTE),
        "h" | "hr" | "hrs" | "hour" | "hours" => Nanoseconds(HOUR),
        "d" | "day" | "days" => Days(1),
        "w" | "week" | "weeks" => Days(WEEK_DAYS),
        "mon" | "mons" | "month" | "months" => Months(1),
        "quarter" | "quarters" => Months(3),
        "y" | "yr" | "yrs" | "year" | "years" => Months(12),
        "dec" | "decs" | "decade" | "decades" => Months(120),
        "c" | "cent" | "century" | "centuries" => Months(1_200),
        "mil" | "mils" | "millennium" | "millennia" | "millenniums" | "millenium" => Months(12_000),
        _ => return None,
    })
}

#[derive(Debug, PartialEq)]
enum Word {
    Number(Number),
    Name(String),
    /// Nanoseconds, and whether a minus sign precedes them, which also matters for `-00:00:01`.
    Clock(bool, i128),
    /// `years-months`, in months.
    Months(i128),
}

/// A decimal number: its whole part, and its fraction in units of 1/[`FRACTION`], with the same sign.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Number {
    whole: i128,
    fraction: i128,
}

impl Number {
    fn whole(whole: i128) -> Number {
        Number { whole, fraction: 0 }
    }

    fn times(self, factor: i128) -> Number {
        let fraction = self.fraction * factor;
        Number { whole: self.whole * factor + fraction / FRACTION, fraction: fraction % FRACTION }
    }

    fn rounded(self) -> i128 {
        self.whole + (2 * self.fraction) / FRACTION
    }

    fn part(self) -> Number {
        Number { whole: 0, fraction: self.fraction }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    months: i128,
    days: i128,
    nanoseconds: i128,
}

impl Sum {
    /// A fraction of a unit carries into the next smaller units; a fraction of a year carries only into months, as in PostgreSQL.
    fn add(&mut self, number: Number, unit: Unit) -> Option<()> {
        let is_sane = number.whole.unsigned_abs() <= 1 << 64;
        match is_sane.then_some(unit)? {
            Unit::Months(1) => {
                self.months += number.whole;
                self.add(number.part().times(MONTH_DAYS), Unit::Days(1))?;
            }
            Unit::Months(months) => self.months += number.times(months).rounded(),
            Unit::Days(days) => {
                let days = number.times(days);
                self.days += days.whole;
                self.nanoseconds += days.part().times(DAY_NANOSECONDS).rounded();
            }
            Unit::Nanoseconds(length) => self.nanoseconds += number.times(length).rounded(),
        }
        Some(())
    }

    fn times(self, factor: i128) -> Sum {
        Sum { months: self.months * factor, days: self.days * factor, nanoseconds: self.nanoseconds * factor }
    }

    fn finished(self) -> Option<IntervalMonthDayNano> {
        let (months, days) = (i32::try_from(self.months).ok()?, i32::try_from(self.days).ok()?);
        Some(IntervalMonthDayNano::new(months, days, i64::try_from(self.nanoseconds).ok()?))
    }
}

/// Splits the text into words; numbers and names need no space between them.
fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = first.is_alphabetic();
        let end = match is_name {
            true => rest.find(|char: char| !char.is_alphabetic()),
            false => {
                let in_number =
                    |(place, char): (usize, char)| char.is_ascii_digit() || ".:".contains(char) || "+-".contains(char) && place == 0;
                // `1-2` is one word, `1 day-2 hours` has two numbers.
                let is_dash = |(place, char): (usize, char)| char == '-' && place > 0;
                rest.char_indices().find(|char| !in_number(*char) && !is_dash(*char)).map(|(place, _)| place)
            }
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        if word.is_empty() {
            return None;
        }
        words.push(if is_name { Word::Name(word.to_lowercase()) } else { numeric(word)? });
        rest = after.trim_start_matches([' ', '\t', '\n', ',']);
    }
    Some(words)
}

fn numeric(word: &str) -> Option<Word> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let sign = if negative { -1 } else { 1 };
    if digits.contains(':') {
        return Some(Word::Clock(negative, clock(digits)?));
    }
    if let Some((years, months)) = digits.split_once('-') {
        let months = small_factor(months).filter(|months| *months < 12)?;
        return Some(Word::Months(sign * (small_factor(years)? * 12 + months)));
    }
    number(digits).map(|number| Word::Number(number.times(sign)))
}

/// A whole number small enough that sums and products of it cannot overflow.
fn small_factor(digits: &str) -> Option<i128> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_plain.then(|| digits.parse::<i64>().ok()).flatten().map(i128::from)
}

/// An unsigned number.
fn number(digits: &str) -> Option<Number> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let leading_digits = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let whole = if whole.is_empty() { 0 } else { small_factor(whole)? };
    Some(Number { whole, fraction: format!("{leading_digits:0<FRACTION_DIGITS$}").parse().ok()? })
}

/// `hours:minutes` or `hours:minutes:seconds`.
fn clock(digits: &str) -> Option<i128> {
    let mut parts = digits.split(':');
    let (hours, minutes) = (small_factor(parts.next()?)?, small_factor(parts.next()?).filter(|minutes| *minutes < 60)?);
    let seconds = match parts.next() {
        Some(seconds) => number(seconds).filter(|seconds| seconds.whole <= 60)?,
        None => Number::whole(0),
    };
    parts.next().is_none().then(|| hours * HOUR + minutes * MINUTE + seconds.times(SECOND).rounded())
}

/// The text after the P of an ISO 8601 duration.
fn iso(text: &str) -> Option<Sum> {
    let mut sum = Sum::default();
    let (mut is_time, mut rest, mut is_empty) = (false, text, true);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(['T', 't']).filter(|_| !is_time) {
            (is_time, rest) = (true, after);
            continue;
        }
        let end = rest.find(|char: char| char.is_ascii_alphabetic())?;
        let Some(Word::Number(number)) = numeric(&rest[..end]) else { return None };
        let unit = match (rest[end..].chars().next()?.to_ascii_uppercase(), is_time) {
            ('Y', false) => Unit::Months(12),
            ('M', false) => Unit::Months(1),
            ('W', false) => Unit::Days(WEEK_DAYS),
            ('D', false) => Unit::Days(1),
            ('H', true) => Unit::Nanoseconds(HOUR),
            ('M', true) => Unit::Nanoseconds(MINUTE),
            ('S', true) => Unit::Nanoseconds(SECOND),
            _ => return None,
        };
        sum.add(number, unit)?;
        (rest, is_empty) = (&rest[end + 1..], false);
    }
    (!is_empty).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(i32, i32, i64)> {
        interval_of_text(text).map(|interval| (interval.months, interval.days, interval.nanoseconds))
    }

    const HOURS: i64 = HOUR as i64;
    const SECONDS: i64 = SECOND as i64;

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (text, expected) in [
            ("100", (0, 0, 100 * SECONDS)),
            ("1.5", (0, 0, 1_500_000_000)),
            ("1 day", (0, 1, 0)),
            ("1 year 2 months 3 days 04:05:06.7", (14, 3, 4 * HOURS + 306_700_000_000)),
            ("-3 days 04:05", (0, -3, 4 * HOURS + 300 * SECONDS)),
            ("-00:00:01", (0, 0, -SECONDS)),
            ("3 decades", (360, 0, 0)),
            ("2 centuries 1 millennium", (14_400, 0, 0)),
            ("0.05 month", (0, 1, 12 * HOURS)),
            ("1.5 years", (18, 0, 0)),
            ("0.3 years", (4, 0, 0)),
            ("1.5 weeks", (0, 10, 12 * HOURS)),
            ("-1.5 days", (0, -1, -12 * HOURS)),
            ("1 day 2 hours ago", (0, -1, -2 * HOURS)),
            ("@ 1 min", (0, 0, 60 * SECONDS)),
            ("1day2hours", (0, 1, 2 * HOURS)),
            ("1-2", (14, 0, 0)),
            ("1 12:00", (0, 1, 12 * HOURS)),
            ("P1Y2M3DT4H5M6S", (14, 3, 4 * HOURS + 306 * SECONDS)),
            ("-P1DT1H", (0, -1, -HOURS)),
            ("1 QUARTER", (3, 0, 0)),
            ("26.3434 s", (0, 0, 26_343_400_000)),
        ] {
            assert_eq!(parts(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            " ",
            "abc",
            "1 dax",
            "day",
            "ago",
            "1 day ago 2",
            "1:2:3:4",
            "1:61",
            "P",
            "PT",
            "P1H",
            "1.2.3",
            "1e3",
            "-",
            "9999999999 months",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
