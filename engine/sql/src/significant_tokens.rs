//! The tokens of a statement without whitespace and comments.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens without whitespace and comments, with their indexes.
pub fn significant(tokens: &[TokenWithSpan]) -> impl Iterator<Item = (usize, &TokenWithSpan)> {
    tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
}

pub fn is_word(token: &Token, keyword: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(keyword))
}
