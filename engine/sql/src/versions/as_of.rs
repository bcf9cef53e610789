//! `FOR VERSION AS OF …` and `FOR SYSTEM_TIME AS OF …` (also `FOR TIMESTAMP AS OF …`) after a table. The parser does not know the clause,
//! so it becomes part of the table's name.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, VisitorMut};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::super::locate::offset_of;
use super::name::{split_name, versioned_name};
use crate::parse_error::parse_error;
use crate::significant_tokens::{is_word, significant};
use crate::walk::{WalkMut, walk_statement_mut};
use common::error::EngineError;
use common::type_names::quoted;

/// The maximum number of tokens of a time.
const TIME_TOKENS_MAX: usize = 512;

/// Moves every clause into the name before it. Returns whether there was one.
pub fn name_versions(sql: &str, dialect: &dyn Dialect, tokens: &mut Vec<TokenWithSpan>) -> Result<bool, EngineError> {
    let words: Vec<(usize, &TokenWithSpan)> = significant(tokens).collect();
    let mut edits = Vec::new();
    for at in 0..words.len() {
        if begins_clause(&words[at..]) {
            let done = edits.last().map_or(0, |(_, end, _)| *end);
            edits.push(named(sql, dialect, tokens, &words, at, done)?);
        }
    }
    if edits.is_empty() {
        return Ok(false);
    }
    let mut changed = Vec::with_capacity(tokens.len());
    let mut done = 0;
    for (from, end, name) in edits {
        changed.extend_from_slice(&tokens[done..from]);
        changed.push(name);
        done = end;
    }
    changed.extend_from_slice(&tokens[done..]);
    *tokens = changed;
    Ok(true)
}

fn begins_clause(words: &[(usize, &TokenWithSpan)]) -> bool {
    let word = |at: usize, keyword: &str| words.get(at).is_some_and(|(_, token)| is_word(&token.token, keyword));
    let is_kind = || ["VERSION", "SYSTEM_TIME", "TIMESTAMP"].iter().any(|kind| word(1, kind));
    word(0, "FOR") && is_kind() && word(2, "AS") && word(3, "OF")
}

/// The tokens `from..end` of name and clause, and the token that replaces them. Tokens before `done` belong to another clause.
fn named(
    sql: &str,
    dialect: &dyn Dialect,
    tokens: &[TokenWithSpan],
    words: &[(usize, &TokenWithSpan)],
    at: usize,
    done: usize,
) -> Result<(usize, usize, TokenWithSpan), EngineError> {
    let place = |token: &TokenWithSpan| Some(offset_of(sql, token.span.start.line, token.span.start.column));
    let error = |message: &str, hint: &str, token: &TokenWithSpan| EngineError::Sql {
        message: message.into(),
        position: place(token),
        hint: Some(hint.into()),
    };
    let clause = words[at].1;
    let table = at.checked_sub(1).map(|before| words[before]);
    let Some((from, TokenWithSpan { token: Token::Word(name), span })) = table.filter(|(from, _)| *from >= done) else {
        return Err(error("only a table has versions", "write FOR … AS OF right behind a table's name, before its alias", clause));
    };
    if is_written_to(words, at - 1) {
        let hint = "older versions never change; RESTORE TABLE t TO VERSION n makes one the newest";
        return Err(EngineError::unsupported("writing to a table FOR … AS OF", Some(hint)));
    }
    let after = words[at + 3].0 + 1;
    let (text, end) = match is_word(&words[at + 1].1.token, "VERSION") {
        true => match words.get(at + 4) {
            Some((index, TokenWithSpan { token: Token::Number(digits, _), .. })) => (format!("VERSION AS OF {digits}"), index + 1),
            Some((index, TokenWithSpan { token: Token::SingleQuotedString(name), .. })) => {
                (format!("VERSION AS OF '{}'", name.replace('\'', "''")), index + 1)
            }
            _ => {
                let hint = "write FOR VERSION AS OF 3, or FOR VERSION AS OF 'monday'";
                return Err(error("a version is a number, or the name of a snapshot in quotes", hint, clause));
            }
        },
        false => {
            let length = TIME_TOKENS_MAX.min(tokens.len() - after);
            let mut parser = Parser::new(dialect).with_tokens_with_locations(tokens[after..after + length].to_vec());
            let time = parser.parse_expr().map_err(|error| parse_error(sql, error.into()))?;
            (format!("SYSTEM_TIME AS OF {time}"), after + parser.index())
        }
    };
    let value = versioned_name(&plain(name), &text);
    Ok((from, end, TokenWithSpan::new(Token::make_word(&value, Some('"')), *span)))
}

/// The name, normalized as unquoted names are.
fn plain(name: &Word) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

/// Whether the name that ends at `words[name]` is the target of a write.
fn is_written_to(words: &[(usize, &TokenWithSpan)], name: usize) -> bool {
    let token = |at: usize| words.get(at).map(|(_, token)| &token.token);
    let mut start = name;
    while start >= 2 && token(start - 1) == Some(&Token::Period) && matches!(token(start - 2), Some(Token::Word(_))) {
        start -= 2;
    }
    let before = |distance: usize, keyword: &str| start.checked_sub(distance).and_then(token).is_some_and(|token| is_word(token, keyword));
    let changes = ["INTO", "UPDATE", "TABLE", "VIEW", "TRUNCATE", "OVERWRITE", "EXISTS"];
    changes.iter().any(|keyword| before(1, keyword)) || (before(1, "FROM") && before(2, "DELETE"))
}

/// Adds aliases, so that columns can be qualified with the table's name for an older version, too.
pub fn alias_versions(statement: &mut Statement) {
    let _ = walk_statement_mut(statement, &mut Aliases);
}

struct Aliases;

impl VisitorMut for Aliases {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias: alias @ None, .. } = factor
            && let Some((table, _)) = last_part(name).and_then(split_name)
        {
            let name = if quoted(table) == table { Ident::new(table) } else { Ident::with_quote('"', table) };
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        ControlFlow::Continue(())
    }
}

fn last_part(name: &ObjectName) -> Option<&str> {
    Some(name.0.last()?.as_ident()?.value.as_str())
}

/// Restores the text of a query with its clauses after the names.
pub fn alias_version(query: &mut Query) {
    let _ = query.walk_mut(&mut AliasVersions);
}

struct AliasVersions;

impl VisitorMut for AliasVersions {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        if let Some((table, clause)) = last_part(name).and_then(split_name) {
            // An unquoted identifier is printed unchanged.
            let text = Ident::new(format!("{} FOR {clause}", quoted(table)));
            if let Some(last) = name.0.last_mut() {
                *last = ObjectNamePart::Identifier(text);
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tokens::tokenize;
    use super::*;
    use crate::QuiverDialect;
    use datafusion::sql::sqlparser::ast;

    fn renamed(sql: &str) -> Result<String, EngineError> {
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        name_versions(sql, &QuiverDialect, &mut tokens)?;
        let text: String = tokens.iter().map(|token| token.token.to_string()).collect();
        Ok(text.replace("EOF", "").replace('\u{a0}', "~"))
    }

    #[test]
    fn the_clause_moves_into_the_name() {
        let cases = [
            ("SELECT * FROM t FOR VERSION AS OF 3", "SELECT * FROM \"t~FOR VERSION AS OF 3\""),
            ("SELECT * FROM S.T for version as of 3 AS x", "SELECT * FROM S.\"t~FOR VERSION AS OF 3\" AS x"),
            ("FROM \"T\" FOR VERSION AS OF 'it''s', u", "FROM \"T~FOR VERSION AS OF 'it''s'\", u"),
            (
                "FROM t FOR SYSTEM_TIME AS OF now() - interval '1 hour' a JOIN t FOR TIMESTAMP AS OF '2026-01-01' b ON a.x = b.x",
                "FROM \"t~FOR SYSTEM_TIME AS OF now() - INTERVAL '1 hour'\" a \
                 JOIN \"t~FOR SYSTEM_TIME AS OF '2026-01-01'\" b ON a.x = b.x",
            ),
            (
                "(SELECT 1 FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 10:00:00')",
                "(SELECT 1 FROM \"t~FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 10:00:00'\")",
            ),
            ("SELECT 'FOR VERSION AS OF 3' FROM t", "SELECT 'FOR VERSION AS OF 3' FROM t"),
            ("SELECT substring(a FOR version) FROM t", "SELECT substring(a FOR version) FROM t"),
        ];
        for (sql, expected) in cases {
            assert_eq!(renamed(sql).unwrap(), expected);
        }
    }

    #[test]
    fn what_has_no_versions_and_what_would_be_written_to_is_refused() {
        for sql in ["SELECT * FROM (SELECT 1) FOR VERSION AS OF 3", "FOR VERSION AS OF 3", "SELECT * FROM t FOR VERSION AS OF x"] {
            assert!(renamed(sql).is_err(), "{sql}");
        }
        for start in ["INSERT INTO", "INSERT OVERWRITE", "UPDATE", "DELETE FROM", "TRUNCATE TABLE", "DROP TABLE IF EXISTS", "MERGE INTO"] {
            let error = renamed(&format!("{start} main.t FOR VERSION AS OF 3")).unwrap_err();
            assert!(error.to_string().starts_with("writing to a table FOR"), "{start}: {error}");
        }
    }

    #[test]
    fn a_view_keeps_what_was_written() {
        let sql = "SELECT * FROM s.t FOR VERSION AS OF 3 AS x, \"T\" FOR SYSTEM_TIME AS OF '2026-01-01'";
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        name_versions(sql, &QuiverDialect, &mut tokens).unwrap();
        let mut statements = Parser::new(&QuiverDialect).with_tokens_with_locations(tokens).parse_statements().unwrap();
        let ast::Statement::Query(query) = &mut statements[0] else { panic!("a query") };
        alias_version(query);
        assert_eq!(query.to_string(), sql);
    }
}
