//! Rewrites `FROM t` to `SELECT * FROM t`.

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Select, SelectFlavor, SelectItem, VisitMut, VisitorMut, WildcardAdditionalOptions};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};
use crate::walk::WalkMut;

/// Adds the SELECT to each query of the statement.
pub fn select_all(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => select_all_of(statement),
        Statement::Explain(explain) => select_all(&mut explain.statement),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => select_all_of(query),
            CopyToSource::Relation(_) => {}
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

/// The same for a part of a statement.
pub fn select_all_of(part: &mut impl VisitMut) {
    let _ = part.walk_mut(&mut InSelect);
}

struct InSelect;

impl VisitorMut for InSelect {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        match select.flavor {
            SelectFlavor::Standard => {}
            SelectFlavor::FromFirst => select.flavor = SelectFlavor::Standard,
            SelectFlavor::FromFirstNoSelect => {
                select.flavor = SelectFlavor::Standard;
                select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
            }
        }
        ControlFlow::Continue(())
    }
}

/// Adds it to the tokens where FROM begins a query: the parser does not accept all clauses after such a FROM, and does not accept it after
/// INSERT.
pub fn select_all_first(tokens: &mut Vec<TokenWithSpan>) {
    let read: &[TokenWithSpan] = tokens;
    let words: Vec<usize> = significant(read).map(|(index, _)| index).collect();
    let insert = from_to_insert(read);
    let is_first = |at: &usize| (insert == Some(words[*at]) || begins_query(read, &words, *at)) && !has_select(read, &words[*at..]);
    let places: Vec<usize> = (0..words.len()).filter(is_first).map(|at| words[at]).collect();
    for from in places.into_iter().rev() {
        let span = tokens[from].span;
        let words = [Token::make_keyword("SELECT"), Token::Mul].map(|token| TokenWithSpan::new(token, span));
        tokens.splice(from..from, words);
    }
}

/// Whether a FROM is at the beginning of a query.
fn begins_query(tokens: &[TokenWithSpan], words: &[usize], at: usize) -> bool {
    let word = |at: usize| &tokens[words[at]].token;
    let is = |before: usize, keyword: &str| at >= before && is_word(word(at - before), keyword);
    if !is_word(word(at), "FROM") {
        return false;
    }
    let follows_set = |before: usize| ["UNION", "EXCEPT", "INTERSECT"].iter().any(|keyword| is(before, keyword));
    match at {
        0 => true,
        // `trim(FROM a)`
        _ if *word(at - 1) == Token::LParen => !is(2, "TRIM"),
        _ if *word(at - 1) == Token::RParen => ends_with(tokens, &words[..at]),
        // `SELECT explain FROM t` has a column of that name.
        1 => is(1, "AS") || is(1, "EXPLAIN"),
        2 if is(1, "ANALYZE") && is(2, "EXPLAIN") => true,
        _ => is(1, "AS") || follows_set(1) || is(1, "ALL") && follows_set(2),
    }
}

/// Whether the parenthesis ends a query of WITH: `AS (SELECT …)`.
fn ends_with(tokens: &[TokenWithSpan], words: &[usize]) -> bool {
    let token = |at: usize| &tokens[words[at]].token;
    let mut depth = 0usize;
    for at in (0..words.len()).rev() {
        match token(at) {
            Token::RParen => depth += 1,
            Token::LParen if depth == 1 => {
                let is_query = ["SELECT", "WITH", "VALUES", "FROM"].iter().any(|keyword| is_word(token(at + 1), keyword));
                return is_query && at > 0 && (is_word(token(at - 1), "AS") || is_word(token(at - 1), "MATERIALIZED"));
            }
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    false
}

/// Whether a SELECT follows in the same query.
fn has_select(tokens: &[TokenWithSpan], words: &[usize]) -> bool {
    let mut depth = 0usize;
    for index in words {
        let token = &tokens[*index].token;
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::SemiColon => return false,
            _ if depth > 0 => {}
            _ if is_word(token, "SELECT") => return true,
            _ if ["UNION", "EXCEPT", "INTERSECT"].iter().any(|keyword| is_word(token, keyword)) => return false,
            _ => {}
        }
    }
    false
}

/// The position of the FROM of an INSERT, after the name of the table and the columns.
fn from_to_insert(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut words = significant(tokens).peekable();
    words.next_if(|(_, token)| is_word(&token.token, "INSERT"))?;
    words.next_if(|(_, token)| is_word(&token.token, "INTO"))?;
    let mut depth = 0usize;
    let mut before = None;
    for (index, token) in words {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            Token::Word(_) if is_word(&token.token, "FROM") && before.is_some() => return Some(index),
            // Parts of a name with periods between them.
            Token::Word(_) if matches!(before, None | Some(Token::Period)) => {}
            Token::Period => {}
            _ => return None,
        }
        before = Some(token.token.clone());
    }
    None
}
