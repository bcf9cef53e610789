//! Numbers in PostgreSQL's notations: `1_000`, `0xFF`, `0o17`, `0b1010`.

use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Rewrites them to plain numbers. `1__0` and `10LIMIT`, which the tokenizer reads as a number and a name, are errors; the name is not an
/// alias.
pub fn plain_numbers(tokens: &mut Vec<TokenWithSpan>) -> Result<(), ParserError> {
    let is_concerned = |token: &TokenWithSpan| matches!(token.token, Token::Number(..) | Token::HexStringLiteral(_));
    if !tokens.iter().any(is_concerned) {
        return Ok(());
    }
    let mut at = 0;
    while at < tokens.len() {
        let (token, next) = (&tokens[at], tokens.get(at + 1));
        let word = next.filter(|next| next.span.start == token.span.end).and_then(|next| match &next.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.as_str()),
            _ => None,
        });
        match (&token.token, word) {
            (Token::Number(zero, false), Some(word)) if zero == "0" && base_of(word).is_some() => {
                let number = based(word).ok_or_else(|| wrong(token, &format!("0{word}")))?;
                tokens[at].span.end = tokens[at + 1].span.end;
                tokens[at].token = Token::Number(number, false);
                tokens.remove(at + 1);
            }
            // In `10L` and `10LIMIT` the tokenizer reads the letter as a part of the number.
            (Token::Number(_, true), _) | (Token::Number(..), Some(_)) => {
                return Err(wrong(token, &format!("{}{}", token.token, word.unwrap_or_default())));
            }
            (Token::Number(number, false), None) if number.contains('_') => {
                let number = digits(number).ok_or_else(|| wrong(token, number))?;
                tokens[at].token = Token::Number(number, false);
            }
            (Token::HexStringLiteral(hex), word) if is_number(token, hex) => {
                let text = format!("0x{hex}{}", word.unwrap_or_default());
                let number = based(&text[1..]).ok_or_else(|| wrong(token, &text))?;
                tokens[at].token = Token::Number(number, false);
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The tokenizer makes the same token of `0xFF` and of `X'FF'`, which is a byte string.
fn is_number(token: &TokenWithSpan, hex: &str) -> bool {
    let (start, end) = (token.span.start, token.span.end);
    start.line == end.line && end.column - start.column == hex.len() as u64 + 2
}

/// The base that the letter after the zero stands for.
fn base_of(word: &str) -> Option<u32> {
    match word.as_bytes().first()? {
        b'x' | b'X' => Some(16),
        b'o' | b'O' => Some(8),
        b'b' | b'B' => Some(2),
        _ => None,
    }
}

fn based(word: &str) -> Option<String> {
    let base = base_of(word)?;
    // An underscore may follow the letter.
    let digits = digits(word[1..].strip_prefix('_').unwrap_or(&word[1..]))?;
    u128::from_str_radix(&digits, base).ok().map(|number| number.to_string())
}

/// Removes the underscores; each must be between two digits.
fn digits(number: &str) -> Option<String> {
    let bytes = number.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
    let misplaced = |at: usize| bytes[at] == b'_' && !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    (!number.is_empty() && !(0..bytes.len()).any(misplaced)).then(|| number.replace('_', ""))
}

fn wrong(token: &TokenWithSpan, number: &str) -> ParserError {
    let start = token.span.start;
    ParserError::TokenizerError(format!("{number} is no number at Line: {}, Column: {}", start.line, start.column))
}

#[cfg(test)]
mod tests {
    use super::super::dialect::QuiverDialect;
    use super::super::tokens::tokenize;

    fn plain(sql: &str) -> Option<String> {
        let tokens = tokenize(sql, &QuiverDialect).ok()?;
        Some(tokens.iter().map(|token| token.token.to_string()).collect::<String>().replace("EOF", ""))
    }

    #[test]
    fn numbers_become_plain_ones() {
        for (sql, same) in [
            ("SELECT 1_000, 1_0.5_0", "SELECT 1000, 10.50"),
            ("SELECT 0xFF, 0xf_f, 0XfF, 0x_1F", "SELECT 255, 255, 255, 31"),
            ("SELECT 0o17, 0b1_01,0B11", "SELECT 15, 5,3"),
            ("SELECT X'FF', 1 _a, 0 b1, \"0b1\", a_1", "SELECT X'FF', 1 _a, 0 b1, \"0b1\", a_1"),
        ] {
            assert_eq!(plain(sql).as_deref(), Some(same), "{sql}");
        }
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        for sql in [
            "SELECT 100_",
            "SELECT 1__0",
            "SELECT 0x",
            "SELECT 0xG",
            "SELECT 0b2",
            "SELECT 0o8",
            "SELECT 0b1_",
            "SELECT 1_000_",
            "SELECT 123abc",
            "SELECT 10L",
            "SELECT 1.5x",
            "SELECT 1 LIMIT 1OFFSET 2",
        ] {
            assert_eq!(plain(sql), None, "{sql}");
        }
    }
}
