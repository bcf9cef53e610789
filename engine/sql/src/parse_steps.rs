//! Steps that the parsers of our own statements share.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::significant_tokens::is_word;

/// Consumes these keywords if all of them come next.
pub fn accept(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let is_here = words.iter().enumerate().all(|(at, word)| is_word(&parser.peek_nth_token(at).token, word));
    if is_here {
        words.iter().for_each(|_| drop(parser.next_token()));
    }
    is_here
}

pub fn expect(parser: &mut Parser<'_>, words: &[&str]) -> Result<(), ParserError> {
    match accept(parser, words) {
        true => Ok(()),
        false => {
            let token = parser.peek_token();
            parser.expected(&words.join(" "), token)
        }
    }
}

/// In double quotes, in single quotes, or without quotes.
pub fn name(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let token = parser.next_token();
    match token.token {
        Token::Word(word) if word.quote_style.is_some() => Ok(word.value),
        Token::Word(word) => Ok(word.value.to_lowercase()),
        Token::SingleQuotedString(name) if !name.is_empty() => Ok(name),
        _ => parser.expected("a name", token),
    }
}

/// A name with or without its schema.
pub fn qualified_name(parser: &mut Parser<'_>) -> Result<TableReference, ParserError> {
    Ok(TableReference::parse_str(&parser.parse_object_name(false)?.to_string()))
}

/// The text of an expression.
pub fn expression(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    Ok(parser.parse_expr()?.to_string())
}

pub fn end(parser: &mut Parser<'_>) -> Result<(), ParserError> {
    while parser.consume_token(&Token::SemiColon) {}
    let token = parser.peek_token();
    if token.token == Token::EOF { Ok(()) } else { parser.expected("the end of the statement", token) }
}
