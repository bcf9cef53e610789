//! Places in SQL text: lines and columns, as the parser counts them, to bytes.

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use datafusion::sql::sqlparser::dialect::GenericDialect;

/// Lines and columns count from 1, columns in characters.
pub fn offset_of(sql: &str, line: u64, column: u64) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match sql[start..].find('\n') {
            Some(length) => start += length + 1,
            None => return sql.len(),
        }
    }
    let rest = &sql[start..];
    let column = column.saturating_sub(1) as usize;
    start + rest.char_indices().nth(column).map_or(rest.len(), |(offset, _)| offset)
}

/// Where in `sql` an error of planning it is, if it says so or names something that can be found.
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

/// The text `value`, if it is written once.
pub fn place_of_text(sql: &str, value: &str) -> Option<usize> {
    let mut found = places(sql, |token| matches!(token, Token::SingleQuotedString(text) if text == value))?;
    found.next().filter(|_| found.next().is_none())
}

/// The number of these digits, if it is written once.
pub fn place_of_literal(sql: &str, digits: &str) -> Option<usize> {
    let mut found = places(sql, |token| matches!(token, Token::Number(number, _) if number == digits))?;
    found.next().filter(|_| found.next().is_none())
}

/// The last number of these digits behind the word `keyword`.
pub fn place_of_number(sql: &str, keyword: &str, digits: &str) -> Option<usize> {
    let keyword = place_of(sql, keyword)?;
    places(sql, |token| matches!(token, Token::Number(number, _) if number == digits))?.last().filter(|place| *place > keyword)
}

fn places(sql: &str, is_meant: impl Fn(&Token) -> bool) -> Option<impl Iterator<Item = usize>> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().ok()?;
    let found = tokens.into_iter().filter(move |token| is_meant(&token.token));
    Some(found.map(move |token| offset_of(sql, token.span.start.line, token.span.start.column)))
}
