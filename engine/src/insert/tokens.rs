//! A fast tokenizer for plain statements, which works on bytes: the parser's tokenizer looks at each character, which takes longer than
//! everything else that is done for a row.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};

/// The tokens without whitespace, and words without their keyword; otherwise equal to those of the parser's tokenizer
/// (`plain_tokens_are_those_of_the_parser`). `None` if the two could differ.
pub fn plain_tokens(sql: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::with_capacity(16);
    let mut rest = sql;
    while let Some(first) = rest.bytes().next() {
        let (token, len) = match first {
            b' ' | b'\t' | b'\n' | b'\r' => {
                rest = &rest[1..];
                continue;
            }
            b'(' => (Token::LParen, 1),
            b')' => (Token::RParen, 1),
            b',' => (Token::Comma, 1),
            b';' => (Token::SemiColon, 1),
            // Anything else that begins with it is an operator, a comment or a number.
            b'-' if begins(&rest[1..], |next| next.is_ascii_digit() || next == b' ') => (Token::Minus, 1),
            b'.' if is_after_word(sql, rest) && begins(&rest[1..], |next| next.is_ascii_alphabetic()) => (Token::Period, 1),
            b'\'' => text(rest)?,
            b'0'..=b'9' => number(rest)?,
            _ if is_word(first) => word(rest)?,
            _ => return None,
        };
        tokens.push(token);
        rest = &rest[len..];
    }
    Some(tokens)
}

fn begins(text: &str, with: impl Fn(u8) -> bool) -> bool {
    text.bytes().next().is_some_and(with)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether the rest directly follows a word or a number.
fn is_after_word(sql: &str, rest: &str) -> bool {
    sql[..sql.len() - rest.len()].bytes().next_back().is_some_and(is_word)
}

/// Whether any token would end before this.
fn is_end(text: &str) -> bool {
    text.is_empty() || begins(text, |next| matches!(next, b' ' | b'\t' | b'\n' | b'\r' | b'(' | b')' | b',' | b';'))
}

/// `None` if it contains a quote or a backslash.
fn text(from: &str) -> Option<(Token, usize)> {
    let len = from[1..].find('\'')?;
    let (inner, rest) = (&from[1..1 + len], &from[len + 2..]);
    (is_end(rest) && !inner.as_bytes().contains(&b'\\')).then(|| (Token::SingleQuotedString(inner.to_string()), len + 2))
}

fn number(from: &str) -> Option<(Token, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut len = digits(from);
    if let Some(fraction) = from[len..].strip_prefix('.') {
        let places = digits(fraction);
        len += (places > 0).then_some(places + 1)?;
    }
    is_end(&from[len..]).then(|| (Token::Number(from[..len].to_string(), false), len))
}

fn word(from: &str) -> Option<(Token, usize)> {
    let len = from.bytes().take_while(|byte| is_word(*byte)).count();
    let rest = &from[len..];
    let ends = is_end(rest) || rest.starts_with('.');
    ends.then(|| (Token::Word(Word { value: from[..len].to_string(), quote_style: None, keyword: Keyword::NoKeyword }), len))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    /// The parser's tokens in the form of this file: without whitespace and keywords.
    fn parser_tokens(sql: &str) -> Option<Vec<Token>> {
        let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().ok()?;
        let plain = |token| match token {
            Token::Whitespace(_) => None,
            Token::Word(word) => Some(Token::Word(Word { keyword: Keyword::NoKeyword, ..word })),
            token => Some(token),
        };
        Some(tokens.into_iter().filter_map(plain).collect())
    }

    #[test]
    fn plain_tokens_are_those_of_the_parser() {
        let pieces = [
            "INSERT", "into", "t", "_a1", "values", "NULL", "true", "x", "E", "N", "b", "U", "q", " ", "\n", "\t", "\r\n", "(", ")", ",",
            ";", ".", "-", "--", "1", "0", "23", "1.5", ".5", "1.", "1e3", "0x1", "1_0", "'", "''", "'a'", "'it''s'", "'ä, ß'", "'\\'",
            "'\\n'", "\"", "\"a\"", "$", "$1", "?", "@", "#", "&", "/*", "*/", "ä", "\u{a0}", ":", "::", "=", "+", "\u{0}", "`", "[", "]",
            "%", "'x", "r'", "L",
        ];
        let (mut state, mut count) = (7u64, 0);
        for _ in 0..200_000 {
            let mut sql = String::new();
            for _ in 0..1 + state % 7 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sql.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let Some(plain) = plain_tokens(&sql) else { continue };
            assert_eq!(Some(plain), parser_tokens(&sql), "{sql:?}");
            count += 1;
        }
        assert!(count > 10_000, "{count}");
    }

    #[test]
    fn statements_of_programs_are_plain() {
        let sql = "INSERT INTO main.t (a, b) VALUES (1, 'some text, with (signs); -- and ä'), (-2.50, NULL);";
        assert_eq!(plain_tokens(sql), parser_tokens(sql));
        assert!(plain_tokens(sql).is_some());
        assert!(plain_tokens("INSERT INTO t VALUES ('it''s')").is_none());
    }
}
