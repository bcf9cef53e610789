//! `CREATE TABLE t (x, y) AS SELECT …`: the parser requires a type after each name, so the list is cut out of the tokens and parsed here.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::objects::Tag;
use super::order_clause::KeyColumn;
use super::significant_tokens::{is_word, significant};

/// Clauses of CREATE TABLE that DataFusion's parser does not know.
#[derive(Debug, Default)]
pub struct TableClauses {
    pub key: Vec<KeyColumn>,
    /// New names for the first columns of the query.
    pub names: Vec<String>,
    pub tags: Vec<Tag>,
}

/// Cuts out the list, if the statement is a CREATE TABLE … AS that has one without types.
pub fn take_column_list(tokens: &mut Vec<TokenWithSpan>) -> Vec<String> {
    let Some((names, open, close)) = find_list(tokens) else { return Vec::new() };
    tokens.drain(open..=close);
    names
}

/// The names, and the positions of the parentheses around them.
fn find_list(tokens: &[TokenWithSpan]) -> Option<(Vec<String>, usize, usize)> {
    let mut words = significant(tokens).map(|(index, token)| (index, &token.token)).peekable();
    for keyword in ["CREATE", "OR", "REPLACE", "TEMPORARY", "TABLE", "IF", "NOT", "EXISTS"] {
        let found = words.next_if(|(_, token)| is_word(token, keyword)).is_some();
        if !found && matches!(keyword, "CREATE" | "TABLE") {
            return None;
        }
    }
    name(words.next()?.1)?;
    while words.next_if(|(_, token)| **token == Token::Period).is_some() {
        name(words.next()?.1)?;
    }
    let (open, _) = words.next_if(|(_, token)| **token == Token::LParen)?;
    let mut names = Vec::new();
    loop {
        names.push(name(words.next()?.1)?);
        match words.next()? {
            (_, Token::Comma) => {}
            (close, Token::RParen) if words.next().is_some_and(|(_, token)| is_word(token, "AS")) => {
                return Some((names, open, close));
            }
            _ => return None,
        }
    }
}

fn name(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
        Token::Word(word) => Some(word.value.to_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;
    use crate::QuiverDialect;

    fn cut(sql: &str) -> (String, Vec<String>) {
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        let names = take_column_list(&mut tokens);
        let rest: String = tokens.iter().map(|token| token.token.to_string()).collect();
        (rest.replace("EOF", ""), names)
    }

    #[test]
    fn a_list_without_types_is_cut_out() {
        let (rest, names) = cut("CREATE OR REPLACE TABLE s.t (X, \"Y\") AS SELECT (1), 2");
        assert_eq!((rest.as_str(), names), ("CREATE OR REPLACE TABLE s.t  AS SELECT (1), 2", vec!["x".into(), "Y".into()]));
        assert_eq!(cut("create table if not exists t(x)as values (1)").1, ["x"]);
    }

    #[test]
    fn what_the_parser_knows_stays() {
        for sql in [
            "CREATE TABLE t (x INT, y INT) AS SELECT 1, 2",
            "CREATE TABLE t AS (SELECT 1)",
            "CREATE TABLE t (x)",
            "CREATE VIEW v (x) AS SELECT 1",
            "INSERT INTO t (x) SELECT 1",
            "CREATE TABLE t (PRIMARY KEY (x)) AS SELECT 1",
        ] {
            assert_eq!(cut(sql), (sql.to_string(), Vec::new()));
        }
    }
}
