//! `SUMMARIZE t` and `SUMMARIZE SELECT …`, which the parser does not know.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};

/// Leaves the query that is to be summarized, if the statement begins with SUMMARIZE; of a table that is `SELECT * FROM t`.
pub fn take_summarize(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let read: &[TokenWithSpan] = tokens;
    let mut words = significant(read);
    let Some((place, first)) = words.next().filter(|(_, first)| is_word(&first.token, "SUMMARIZE")) else { return false };
    let begins_query =
        |token: &Token| *token == Token::LParen || ["SELECT", "WITH", "FROM", "VALUES"].iter().any(|word| is_word(token, word));
    let (span, is_query) = (first.span, words.next().is_some_and(|(_, next)| begins_query(&next.token)));
    let select = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")].map(|token| TokenWithSpan::new(token, span));
    tokens.splice(place..=place, select.into_iter().filter(|_| !is_query));
    true
}
