//! Sizes and durations with units.

use std::time::Duration;

const SIZES: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
const TIMES_MS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// `512MB`, `4GiB`, `64k` or a number of bytes. Units count in 1024, as memory does.
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// `250ms`, `30s`, `5min`, `12h`, `7d`; a number without a unit only if it is 0.
pub fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    if unit.is_empty() {
        return (number == 0).then_some(Duration::ZERO);
    }
    let (_, factor) = TIMES_MS.into_iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(factor).map(Duration::from_millis)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

/// Written in the largest unit that gives a whole number.
pub fn size_text(bytes: u64) -> String {
    let whole = |(_, shift): &(&str, u32)| *shift > 0 && bytes > 0 && bytes.trailing_zeros() >= *shift;
    let (unit, shift) = SIZES.into_iter().rev().find(|size| whole(size)).unwrap_or(("B", 0));
    format!("{}{unit}", bytes >> shift)
}

pub fn time_text(time: Duration) -> String {
    let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if time_ms == 0 {
        return "0".to_string();
    }
    let fits = TIMES_MS.into_iter().rev().find(|(_, factor)| time_ms.is_multiple_of(*factor));
    let (unit, factor) = fits.unwrap_or(TIMES_MS[0]);
    format!("{}{unit}", time_ms / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, bytes) in [("512MB", 512 << 20), ("4 GiB", 4 << 30), ("64k", 64 << 10), ("1000", 1000), ("7B", 7), ("2t", 2 << 40)] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "MB", "-1", "1.5G", "12 parsecs", "99999999999999999999", "99999999999 TB"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, time_ms) in [("250ms", 250), ("30s", 30_000), ("5 min", 300_000), ("12h", 43_200_000), ("7d", 604_800_000), ("0", 0)] {
            assert_eq!(parse_time(text), Some(Duration::from_millis(time_ms)), "{text}");
        }
        for text in ["30", "s", "5 weeks", "-1s", "1.5h", "99999999999999999d"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn a_written_value_is_read_back_as_the_same() {
        for bytes in [0, 1, 1000, 1024, 64 << 20, 1 << 30, (1 << 30) + 1] {
            assert_eq!(parse_size(&size_text(bytes)), Some(bytes));
        }
        for time_ms in [0, 1, 250, 1_000, 90_000, 3_600_000, 86_400_000, 86_400_001] {
            let time = Duration::from_millis(time_ms);
            assert_eq!(parse_time(&time_text(time)), Some(time));
        }
        assert_eq!((size_text(64 << 20), time_text(Duration::from_secs(1800))), ("64MiB".to_string(), "30min".to_string()));
    }
}
