//! Base64: as `Basic` and PEM have it, and with the letters of URLs for our tokens.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// With the letters of URLs, and no padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let letters = (0..=chunk.len()).map(|at| LETTERS[(bits >> (18 - 6 * at) & 63) as usize]);
        text.extend(letters.map(char::from));
    }
    text
}

/// Of either set of letters, with padding or without. None where it is no base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    if letters.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for chunk in letters.chunks(4) {
        let mut bits = 0u32;
        for letter in chunk {
            bits = bits << 6 | value(*letter)?;
        }
        bits <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for length in 0..40u8 {
            let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(73).wrapping_add(length)).collect();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }
    }

    #[test]
    fn it_is_the_base64_of_others() {
        assert_eq!(decode("QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap(), b"Aladdin:open sesame");
        assert_eq!(decode("+/+/").unwrap(), decode("-_-_").unwrap());
        assert_eq!(encode(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw");
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["A", "AB CD", "ü", "ABCDE", "A=B="] {
            assert!(decode(text).is_none(), "{text}");
        }
    }
}
