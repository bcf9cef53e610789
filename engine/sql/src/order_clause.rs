//! `ORDER BY (a DESC, b)` and `CLUSTER BY (a)` of CREATE TABLE and ALTER TABLE. The parser supports neither directions nor all positions
//! of the clause, so it is cut out of the tokens and parsed here.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::locate::offset_of;
use super::significant_tokens::{is_word, significant};
use common::error::EngineError;

/// A column of the order in which rows are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    pub name: String,
    pub descending: bool,
    /// `None` if it is not given; then NULL is the largest value.
    pub nulls_first: Option<bool>,
}

impl KeyColumn {
    /// Parses `name`, `name asc` or `name desc`, as in `--order-by`.
    pub fn of_text(text: &str) -> Result<KeyColumn, EngineError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default().to_string();
        let descending = match words.next().map(str::to_ascii_lowercase).as_deref() {
            None | Some("asc") => false,
            Some("desc") => true,
            Some(other) => {
                let message = format!("\"{other}\" is no order; ASC and DESC are");
                return Err(EngineError::Sql { message, position: None, hint: None });
            }
        };
        Ok(KeyColumn { name, descending, nulls_first: None })
    }
}

/// Cuts out the clause, if the statement is a CREATE TABLE that has one.
pub fn take_order_clause(sql: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<KeyColumn>, EngineError> {
    let mut key = None;
    while let Some((from, body, end)) = find_clause(tokens) {
        if key.is_some() {
            return Err(EngineError::unsupported("a table with two orders", Some("name all columns in one ORDER BY")));
        }
        key = Some(key_columns(sql, &tokens[body..end])?);
        tokens.drain(from..end);
    }
    Ok(key.unwrap_or_default())
}

/// Cuts `[SET] ORDER BY (…)` out of an ALTER TABLE and inserts an action that the parser knows.
pub fn take_alter_key(sql: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Option<Vec<KeyColumn>>, EngineError> {
    let mut key = None;
    while let Some((from, body, end)) = find_action(tokens) {
        if key.is_some() {
            return Err(EngineError::unsupported("a table with two orders", Some("name all columns in one ORDER BY (…)")));
        }
        let position = Some(offset_of(sql, tokens[from].span.start.line, tokens[from].span.start.column));
        let columns = significant(&tokens[body..end]).count();
        if columns == 0 {
            let hint = Some("write ORDER BY (a, b), or ORDER BY () for no order".to_string());
            return Err(EngineError::Sql { message: "the columns to order by are in parentheses".into(), position, hint });
        }
        // Empty parentheses mean no order.
        key = Some(if columns == 2 { Vec::new() } else { key_columns(sql, &tokens[body..end])? });
        let span = tokens[from].span;
        let known = ["DROP", "CLUSTERING", "KEY"].map(|word| TokenWithSpan::new(Token::make_keyword(word), span));
        tokens.splice(from..end, known);
    }
    Ok(key)
}

/// The positions of the action, of its opening parenthesis, and of its end.
fn find_action(tokens: &[TokenWithSpan]) -> Option<(usize, usize, usize)> {
    let words: Vec<(usize, &TokenWithSpan)> = significant(tokens).collect();
    let word = |at: usize, keyword: &str| words.get(at).is_some_and(|(_, token)| is_word(&token.token, keyword));
    if !word(0, "ALTER") || !word(1, "TABLE") {
        return None;
    }
    let mut depth = 0usize;
    let mut begin = None;
    for (at, (index, token)) in words.iter().enumerate().skip(2) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.saturating_sub(1);
                if let Some((from, body)) = begin.filter(|_| depth == 0) {
                    return Some((from, body, index + 1));
                }
            }
            found if depth == 0 && begin.is_none() && (is_word(found, "ORDER") || is_word(found, "CLUSTER")) && word(at + 1, "BY") => {
                let from = if word(at - 1, "SET") { words[at - 1].0 } else { *index };
                let body = words[at + 1].0 + 1;
                if words.get(at + 2).is_none_or(|(_, next)| next.token != Token::LParen) {
                    return Some((from, body, body));
                }
                begin = Some((from, body));
            }
            _ => {}
        }
    }
    None
}

/// The positions of the clause, of its columns, and of its end.
fn find_clause(tokens: &[TokenWithSpan]) -> Option<(usize, usize, usize)> {
    let words: Vec<(usize, &TokenWithSpan)> = significant(tokens).collect();
    let word = |at: usize, keyword: &str| words.get(at).is_some_and(|(_, token)| is_word(&token.token, keyword));
    let table = if word(1, "OR") { 3 } else { 1 };
    let table = if word(table, "TEMPORARY") { table + 1 } else { table };
    if !word(0, "CREATE") || !word(table, "TABLE") {
        return None;
    }
    let mut depth = 0usize;
    let mut begin = None;
    for (at, (index, token)) in words.iter().enumerate().skip(table) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            Token::SemiColon => return begin.map(|(from, body)| (from, body, *index)),
            // The query follows AS, and may have its own ORDER BY.
            found if is_word(found, "AS") => return begin.map(|(from, body)| (from, body, *index)),
            found if begin.is_none() && (is_word(found, "ORDER") || is_word(found, "CLUSTER")) && word(at + 1, "BY") => {
                begin = Some((*index, words[at + 1].0 + 1));
            }
            // Another clause ends this one.
            found if begin.is_some_and(|(_, body)| *index > body) && ends_clause(found) => {
                return begin.map(|(from, body)| (from, body, *index));
            }
            _ => {}
        }
    }
    begin.map(|(from, body)| (from, body, tokens.len()))
}

fn ends_clause(token: &Token) -> bool {
    ["ORDER", "CLUSTER", "WITH", "PARTITION", "PRIMARY", "COMMENT", "ENGINE"].iter().any(|word| is_word(token, word))
}

fn key_columns(sql: &str, tokens: &[TokenWithSpan]) -> Result<Vec<KeyColumn>, EngineError> {
    let mut tokens: Vec<&TokenWithSpan> = significant(tokens).map(|(_, token)| token).collect();
    let is = |token: Option<&&TokenWithSpan>, wanted: &Token| token.is_some_and(|token| token.token == *wanted);
    if is(tokens.first(), &Token::LParen) && is(tokens.last(), &Token::RParen) {
        tokens.remove(0);
        tokens.pop();
    }
    tokens.split(|token| token.token == Token::Comma).map(|column| key_column(sql, column)).collect()
}

fn key_column(sql: &str, tokens: &[&TokenWithSpan]) -> Result<KeyColumn, EngineError> {
    let refuse = || {
        let position = tokens.first().map(|token| offset_of(sql, token.span.start.line, token.span.start.column));
        let hint = Some("write the names of columns, each with ASC or DESC if you like".to_string());
        EngineError::Sql { message: "a table is ordered by columns".into(), position, hint }
    };
    let Some((Token::Word(name), rest)) = tokens.split_first().map(|(name, rest)| (&name.token, rest)) else {
        return Err(refuse());
    };
    let mut words = rest.iter().map(|token| token.token.to_string().to_ascii_uppercase()).peekable();
    let descending = words.next_if(|word| word == "ASC" || word == "DESC").is_some_and(|word| word == "DESC");
    let nulls_first = match words.next_if(|word| word == "NULLS") {
        Some(_) => match words.next().as_deref() {
            Some("FIRST") => Some(true),
            Some("LAST") => Some(false),
            _ => return Err(refuse()),
        },
        None => None,
    };
    if words.next().is_some() {
        return Err(refuse());
    }
    let name = if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() };
    Ok(KeyColumn { name, descending, nulls_first })
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;
    use crate::QuiverDialect;

    fn cut(sql: &str) -> (String, Vec<String>) {
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        let key = take_order_clause(sql, &mut tokens).unwrap();
        let rest: String = tokens.iter().map(|token| token.token.to_string()).collect();
        let key = key.into_iter().map(|column| {
            let nulls = column.nulls_first.map_or("", |first| if first { " first" } else { " last" });
            format!("{}{}{nulls}", column.name, if column.descending { " desc" } else { "" })
        });
        (rest.replace("EOF", "").trim().to_string(), key.collect())
    }

    #[test]
    fn the_clause_is_cut_out_wherever_it_is() {
        let (rest, key) = cut("CREATE TABLE t (a int, b int) ORDER BY (a DESC, \"B\" nulls first)");
        assert_eq!((rest.as_str(), key), ("CREATE TABLE t (a int, b int)", vec!["a desc".into(), "B first".into()]));
        let (rest, key) = cut("create or replace table t cluster by A, b as select 1 a order by a");
        assert_eq!((rest.as_str(), key), ("create or replace table t as select 1 a order by a", vec!["a".into(), "b".into()]));
    }

    #[test]
    fn the_order_of_an_altered_table_is_cut_out_of_its_actions() {
        let cut = |sql: &str| {
            let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
            let key = take_alter_key(sql, &mut tokens).unwrap();
            let rest: String = significant(&tokens).map(|(_, token)| format!("{} ", token.token)).collect();
            (rest.trim().to_string(), key.map(|key| key.into_iter().map(|column| column.name).collect::<Vec<_>>()))
        };
        let (rest, key) = cut("ALTER TABLE t SET ORDER BY (a DESC, b), ADD COLUMN c int");
        assert_eq!(rest, "ALTER TABLE t DROP CLUSTERING KEY , ADD COLUMN c int");
        assert_eq!(key, Some(vec!["a".into(), "b".into()]));
        assert_eq!(cut("alter table t cluster by (a)").1, Some(vec!["a".into()]));
        assert_eq!(cut("ALTER TABLE t ORDER BY ()").1, Some(Vec::new()));
        assert_eq!(cut("ALTER TABLE t ADD COLUMN \"order\" int").1, None);
        assert_eq!(cut("CREATE TABLE t (a int) ORDER BY (a)").1, None);
    }

    #[test]
    fn orders_of_queries_and_of_other_statements_stay() {
        for sql in ["CREATE TABLE t AS SELECT 1 AS a ORDER BY a", "CREATE VIEW v AS SELECT 1 ORDER BY 1", "SELECT 1 ORDER BY 1"] {
            assert_eq!(cut(sql), (sql.to_string(), Vec::new()));
        }
    }
}
