//! `CREATE TABLE t … WITH TAGS (k = v, …)`: the clause is cut out of the tokens and parsed here.

use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::parse::tags;
use super::statement::Tag;
use crate::parse_error::parse_error;
use crate::parse_steps::end;
use crate::significant_tokens::{is_word, significant};
use common::error::EngineError;

/// Cuts out the clause, if the statement is a CREATE TABLE that has one.
pub fn take_tags_clause(sql: &str, dialect: &dyn Dialect, limit: usize, tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<Tag>, EngineError> {
    let Some((from, body, close)) = find_clause(tokens) else { return Ok(Vec::new()) };
    let clause = tokens[body..=close].to_vec();
    let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens_with_locations(clause);
    let found = tags(&mut parser).and_then(|found| end(&mut parser).map(|()| found));
    let found = found.map_err(|error| parse_error(sql, DataFusionError::from(error)))?;
    tokens.drain(from..=close);
    Ok(found)
}

/// The positions of WITH and of the parentheses. In `AS WITH tags (a) AS (…)` it is a query that is called tags.
fn find_clause(tokens: &[TokenWithSpan]) -> Option<(usize, usize, usize)> {
    let words: Vec<(usize, &Token)> = significant(tokens).map(|(at, token)| (at, &token.token)).collect();
    let word = |at: usize, keyword: &str| words.get(at).is_some_and(|(_, token)| is_word(token, keyword));
    if !word(0, "CREATE") || !(word(1, "TABLE") || word(1, "OR") && word(2, "REPLACE") && word(3, "TABLE")) {
        return None;
    }
    let mut depth = 0_usize;
    for at in 2..words.len() {
        match words[at].1 {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth == 0 && word(at, "WITH") && word(at + 1, "TAGS") && !word(at - 1, "AS") => {
                let (open, _) = words.get(at + 2).filter(|(_, token)| **token == Token::LParen)?;
                let mut inside = 0_usize;
                let close = words[at + 2..].iter().find(|(_, token)| {
                    inside += usize::from(**token == Token::LParen);
                    inside -= usize::from(**token == Token::RParen);
                    inside == 0
                });
                return close.map(|(close, _)| (words[at].0, *open, *close));
            }
            _ => {}
        }
    }
    None
}
