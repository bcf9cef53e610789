//! What is changed in the tokens of a statement before they are parsed: notations that the parser
//! or DataFusion does not know, in words that they do.

use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::locate::offset_of;
use crate::error::EngineError;

pub fn tokenize(sql: &str, dialect: &dyn Dialect) -> Result<Vec<TokenWithSpan>, ParserError> {
    Tokenizer::new(dialect, sql).tokenize_with_location().map_err(ParserError::from)
}

/// Numbers with an exponent are DOUBLE, as in the SQL standard; DataFusion would make decimals of
/// them, which hold no 1e308.
pub fn double_literals(sql: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<(), EngineError> {
    let is_double = |token: &TokenWithSpan| match &token.token {
        Token::Number(digits, _) => digits.contains(['e', 'E']) && !digits.starts_with("0x"),
        _ => false,
    };
    if !tokens.iter().any(is_double) {
        return Ok(());
    }
    let mut changed = Vec::with_capacity(tokens.len() + 8);
    for token in tokens.drain(..) {
        let Token::Number(digits, _) = &token.token else {
            changed.push(token);
            continue;
        };
        if !is_double(&token) {
            changed.push(token);
            continue;
        }
        if !digits.parse::<f64>().is_ok_and(f64::is_finite) {
            let position = Some(offset_of(sql, token.span.start.line, token.span.start.column));
            return Err(EngineError::Sql { message: format!("{digits} is out of range for DOUBLE"), position, hint: None });
        }
        let cast = [
            Token::make_keyword("CAST"),
            Token::LParen,
            Token::SingleQuotedString(digits.clone()),
            Token::make_keyword("AS"),
            Token::make_keyword("DOUBLE"),
            Token::RParen,
        ];
        changed.extend(cast.map(|part| TokenWithSpan::new(part, token.span)));
    }
    *tokens = changed;
    Ok(())
}

/// The statement's tokens without spaces and comments.
pub fn significant(tokens: &[TokenWithSpan]) -> impl Iterator<Item = (usize, &TokenWithSpan)> {
    tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
}

pub fn is_word(token: &Token, keyword: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(keyword))
}
