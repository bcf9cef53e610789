//! Formats and parses quantities with units. Pure: tested in `tests/suite`.

use std::time::Duration;

/// `6,001,215`
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `6,001,215 rows`
pub fn counted(value: u64, noun: &str) -> String {
    match value {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", count(value)),
    }
}

/// `0.034 s`, `12.3 s`, `4 min 05 s`
pub fn duration(milliseconds: f64) -> String {
    let seconds = milliseconds / 1000.0;
    if seconds < 10.0 {
        format!("{seconds:.3} s")
    } else if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds as u64;
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

/// Reads `90s`, `30min`, `12h`, `30d`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time such as 90s, 30min, 12h or 30d".to_string();
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(split);
    let seconds = match unit.trim().to_ascii_lowercase().as_str() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 24 * 3_600,
        _ => return Err(expected()),
    };
    let time_s = number.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds));
    time_s.filter(|time_s| (1..=TIME_S_MAX).contains(time_s)).map(Duration::from_secs).ok_or_else(expected)
}

/// The limit: a hundred years.
const TIME_S_MAX: u64 = 100 * 366 * 24 * 3_600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(6_001_215), "6,001,215");
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(0, "row"), "0 rows");
    }

    #[test]
    fn durations_keep_the_digits_that_matter() {
        assert_eq!(duration(34.0), "0.034 s");
        assert_eq!(duration(12_345.0), "12.3 s");
        assert_eq!(duration(245_000.0), "4 min 05 s");
    }

    #[test]
    fn durations_are_parsed_with_their_unit() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("30 min"), Ok(Duration::from_secs(1800)));
        assert_eq!(parse_duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for bad in ["", "30", "d", "0h", "-1h", "1 week", "1e9d", "99999999999999999999s"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
