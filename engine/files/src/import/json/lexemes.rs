//! Escapes and numbers.

/// The character of an escape and its length, without the backslash.
pub(super) fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let simple = |character| Some((character, 1));
    match bytes.first()? {
        b'"' => simple('"'),
        b'\\' => simple('\\'),
        b'/' => simple('/'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'u' => {
            let high = hex4(bytes.get(1..5)?)?;
            if !(0xd800..0xdc00).contains(&high) {
                return char::from_u32(high).map(|character| (character, 5));
            }
            let low = hex4(bytes.get(7..11)?).filter(|_| bytes[5..7] == *b"\\u")?;
            let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            char::from_u32(0x10000 + ((high - 0xd800) << 10) + low).map(|character| (character, 11))
        }
        _ => None,
    }
}

fn hex4(digits: &[u8]) -> Option<u32> {
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u32::from_str_radix(digits, 16).ok()
}

/// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
pub(super) fn is_number(mut bytes: &[u8]) -> bool {
    fn digits(bytes: &[u8]) -> (usize, &[u8]) {
        let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count, &bytes[count..])
    }
    bytes = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let has_leading_zero = bytes.first() == Some(&b'0');
    let (count, mut rest) = digits(bytes);
    if count == 0 || (has_leading_zero && count > 1) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let (count, after) = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = after;
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let signs: &[u8] = b"+-";
        let unsigned = match exponent.first() {
            Some(sign) if signs.contains(sign) => &exponent[1..],
            _ => exponent,
        };
        let (count, after) = digits(unsigned);
        return count > 0 && after.is_empty();
    }
    rest.is_empty()
}
