//! Sizes as people write them.

/// Reads `512M`, `4GiB`, `1.5g` or a plain number of bytes. Units count in 1024, as memory does.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let no_number = || "expected a size such as 512M or 4G".to_string();
    if number.is_empty() {
        return Err(no_number());
    }
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        other => return Err(format!("'{other}' is not a unit; use K, M, G or T")),
    };
    let value: f64 = number.parse().map_err(|_| no_number())?;
    let size_bytes = value * 1024f64.powi(power);
    if size_bytes < 1.0 || size_bytes >= u64::MAX as f64 {
        return Err("expected a size between 1 byte and 16 EiB".to_string());
    }
    Ok(size_bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        assert_eq!(parse_size("1000"), Ok(1000));
        assert_eq!(parse_size("512M"), Ok(512 << 20));
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("1.5 k"), Ok(1536));
    }

    #[test]
    fn what_has_no_number_is_not_taken_for_a_unit() {
        assert_eq!(parse_size("-1"), Err("expected a size such as 512M or 4G".to_string()));
        assert_eq!(parse_size("5 parsecs"), Err("'parsecs' is not a unit; use K, M, G or T".to_string()));
    }

    #[test]
    fn an_invalid_size_is_an_error_that_says_what_is_expected() {
        for bad in ["", "M", "12 parsecs", "-1", "0", "1e400"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
