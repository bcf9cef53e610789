//! Converts positions in SQL text: lines and columns of the parser to byte offsets.

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::significant_tokens::significant;
use crate::QuiverDialect;

/// Lines and columns count from 1, and columns count characters. It reads the text up to the position: for several positions use
/// [`PositionFinder`].
pub fn offset_of(sql: &str, line: u64, column: u64) -> usize {
    PositionFinder::of(sql).offset(line, column)
}

/// Finds positions in ascending order and reads the text only once.
pub struct PositionFinder<'a> {
    sql: &'a str,
    line: u64,
    column: u64,
    offset: usize,
}

impl<'a> PositionFinder<'a> {
    pub fn of(sql: &'a str) -> Self {
        PositionFinder { sql, line: 1, column: 1, offset: 0 }
    }

    pub fn offset(&mut self, line: u64, column: u64) -> usize {
        while self.line < line {
            match self.sql[self.offset..].find('\n') {
                Some(length) => self.offset += length + 1,
                None => return self.sql.len(),
            }
            (self.line, self.column) = (self.line + 1, 1);
        }
        let further = column.saturating_sub(self.column);
        let rest = &self.sql[self.offset..];
        self.offset += rest.char_indices().nth(further as usize).map_or(rest.len(), |(offset, _)| offset);
        self.column += further;
        self.offset
    }
}

/// The position of a planning error in `sql`, if the error has one or names something that can be found.
pub fn locate(sql: &str, error: &DataFusionError) -> Option<usize> {
    if let Some(span) = error.diagnostic().and_then(|diagnostic| diagnostic.span) {
        return Some(offset_of(sql, span.start.line, span.start.column));
    }
    if let Some((line, column)) = said_place(&error.to_string()) {
        return Some(offset_of(sql, line, column));
    }
    match error.find_root() {
        DataFusionError::SchemaError(schema_error, _) => match schema_error.as_ref() {
            SchemaError::FieldNotFound { field, .. } => place_of(sql, &field.name),
            SchemaError::AmbiguousReference { field } => place_of(sql, &field.name),
            _ => None,
        },
        _ => None,
    }
}

/// The parser ends its messages with `at Line: 1, Column: 8`.
fn said_place(message: &str) -> Option<(u64, u64)> {
    let (_, rest) = message.rsplit_once("Line: ")?;
    let (line, rest) = rest.split_once(", Column: ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((line.parse().ok()?, digits.parse().ok()?))
}

/// The first identifier `name` in the text.
pub fn place_of(sql: &str, name: &str) -> Option<usize> {
    places(sql, |token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(name)))?.next()
}

/// The string literal `value`, if it occurs once.
pub fn place_of_text(sql: &str, value: &str) -> Option<usize> {
    let mut found = places(sql, |token| matches!(token, Token::SingleQuotedString(text) if text == value))?;
    found.next().filter(|_| found.next().is_none())
}

/// The string literal `value`, if it occurs once as a pattern after `~`, or as an argument of a function whose name begins with one of
/// `functions`.
pub fn place_of_argument(sql: &str, value: &str, functions: &[&str]) -> Option<usize> {
    let tokens = Tokenizer::new(&QuiverDialect, sql).tokenize_with_location().ok()?;
    let mut before: Option<&Token> = None;
    let (mut calls, mut found) = (Vec::new(), Vec::new());
    for (_, TokenWithSpan { token, span }) in significant(&tokens) {
        match token {
            Token::LParen => {
                calls.push(matches!(before, Some(Token::Word(word)) if functions.iter().any(|name| word.value.to_ascii_lowercase().starts_with(name))));
            }
            Token::RParen => {
                calls.pop();
            }
            Token::SingleQuotedString(text) if text == value && (is_match(before) || calls.last() == Some(&true)) => found.push(span.start),
            _ => {}
        }
        before = Some(token);
    }
    match found.as_slice() {
        [only] => Some(offset_of(sql, only.line, only.column)),
        _ => None,
    }
}

fn is_match(token: Option<&Token>) -> bool {
    use Token::{ExclamationMarkTilde, ExclamationMarkTildeAsterisk, Tilde, TildeAsterisk};
    matches!(token, Some(Tilde | TildeAsterisk | ExclamationMarkTilde | ExclamationMarkTildeAsterisk))
}

/// The number with these digits, if it occurs once.
pub fn place_of_literal(sql: &str, digits: &str) -> Option<usize> {
    let mut found = places(sql, |token| matches!(token, Token::Number(number, _) if number == digits))?;
    found.next().filter(|_| found.next().is_none())
}

/// The last number with these digits after the word `keyword`.
pub fn place_of_number(sql: &str, keyword: &str, digits: &str) -> Option<usize> {
    let keyword = place_of(sql, keyword)?;
    places(sql, |token| matches!(token, Token::Number(number, _) if number == digits))?.last().filter(|place| *place > keyword)
}

fn places(sql: &str, is_meant: impl Fn(&Token) -> bool) -> Option<impl Iterator<Item = usize>> {
    let tokens = Tokenizer::new(&QuiverDialect, sql).tokenize_with_location().ok()?;
    let found = tokens.into_iter().filter(move |token| is_meant(&token.token));
    let mut places = PositionFinder::of(sql);
    Some(found.map(move |token| places.offset(token.span.start.line, token.span.start.column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_order_are_those_found_one_by_one() {
        let sql = "SELECT 'é', a\n\n  FROM é, b\n";
        let mut places = PositionFinder::of(sql);
        for (line, column, text) in [(1, 8, "'é'"), (1, 13, "a"), (3, 3, "FROM"), (3, 8, "é, b"), (3, 11, "b"), (9, 1, "")] {
            assert_eq!(places.offset(line, column), offset_of(sql, line, column), "{text}");
            assert!(sql[offset_of(sql, line, column)..].starts_with(text), "{text}");
        }
    }

    /// Searching each from the beginning took minutes.
    #[test]
    fn the_last_of_many_numbers_is_found() {
        let sql = format!("SELECT {} LIMIT -1", "1, ".repeat(100_000));
        assert_eq!(place_of_number(&sql, "LIMIT", "1"), Some(sql.len() - 1));
    }

    #[test]
    fn a_text_is_an_argument_behind_its_operator_or_in_its_call() {
        let place = |sql: &str| place_of_argument(sql, "(", &["regexp_", "date_"]);
        for sql in ["SELECT a ~ '('", "SELECT '(' , a !~* '('", "SELECT Regexp_like(lower(a), '(')", "SELECT '(', date_trunc('(', a)"] {
            assert_eq!(place(sql), sql.rfind("'("), "{sql}");
        }
        for sql in ["SELECT 'a' ~ p WHERE name = '('", "SELECT regexp_like(a, lower('('))", "SELECT a ~ '(', b ~ '('"] {
            assert_eq!(place(sql), None, "{sql}");
        }
    }
}
