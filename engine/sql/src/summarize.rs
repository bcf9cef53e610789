//! `SUMMARIZE t` and `SUMMARIZE SELECT …`, which the parser does not know.

use datafusion::sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};

/// Leaves the query that is to be summarized, if the statement begins with SUMMARIZE; of a table that is `SELECT * FROM t`.
pub fn take_summarize(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let Some((position, span, is_query)) = summarize_word(tokens) else { return false };
    let select = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")].map(|token| TokenWithSpan::new(token, span));
    tokens.splice(position..=position, select.into_iter().filter(|_| !is_query));
    true
}

/// The position and the span of the word SUMMARIZE, and whether a query follows.
fn summarize_word(tokens: &[TokenWithSpan]) -> Option<(usize, Span, bool)> {
    let mut words = significant(tokens);
    let (position, first) = words.next().filter(|(_, first)| is_word(&first.token, "SUMMARIZE"))?;
    let begins_query =
        |token: &Token| *token == Token::LParen || ["SELECT", "WITH", "FROM", "VALUES"].iter().any(|word| is_word(token, word));
    Some((position, first.span, words.next().is_some_and(|(_, next)| begins_query(&next.token))))
}
