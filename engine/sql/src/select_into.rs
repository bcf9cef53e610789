//! `SELECT … INTO TABLE c` means CREATE TABLE c AS, and `INTO VOLATILE c` makes a temporary table; VOLATILE is a synonym of TEMPORARY.

use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{self, Ident, ObjectNamePart, ObjectType, Select, SelectInto, SetExpr};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};
use common::error::EngineError;
use common::names::TEMP;

/// Words before an INTO that is followed by an existing table.
const BEFORE_OTHER_INTO: [&str; 6] = ["INSERT", "MERGE", "REPLACE", "IGNORE", "COPY", "OVERWRITE"];

/// Words that can follow INTO and a name.
const AFTER_NAME: [Keyword; 14] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::QUALIFY,
    Keyword::WINDOW,
    Keyword::LATERAL,
];

/// Replaces VOLATILE by TEMPORARY, and also TEMP where the parser accepts only TEMPORARY.
pub fn volatile_as_temporary(tokens: &mut [TokenWithSpan]) {
    let has_word = |token: &TokenWithSpan| is_word(&token.token, "VOLATILE") || is_word(&token.token, "TEMP");
    if !tokens.iter().any(has_word) {
        return;
    }
    let words: Vec<usize> = significant(tokens).map(|(index, _)| index).collect();
    let is =
        |tokens: &[TokenWithSpan], at: usize, keyword: &str| words.get(at).is_some_and(|index| is_word(&tokens[*index].token, keyword));
    let place = if is(tokens, 1, "OR") { 3 } else { 1 };
    let begins = is(tokens, 0, "CREATE") || (is(tokens, 0, "DROP") && place == 1);
    if begins && is(tokens, place + 1, "TABLE") && (is(tokens, place, "VOLATILE") || is(tokens, place, "TEMP")) {
        tokens[words[place]].token = Token::make_keyword("TEMPORARY");
    }
    for at in 1..words.len() {
        let is_into = is(tokens, at, "VOLATILE") && is(tokens, at - 1, "INTO");
        let is_other = at >= 2 && BEFORE_OTHER_INTO.iter().any(|keyword| is(tokens, at - 2, keyword));
        let name = if is(tokens, at + 1, "TABLE") { at + 2 } else { at + 1 };
        if is_into && !is_other && words.get(name).is_some_and(|index| is_name(&tokens[*index].token)) {
            tokens[words[at]].token = Token::make_keyword("TEMPORARY");
        }
    }
}

/// Otherwise VOLATILE is the name itself.
fn is_name(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_some() || !AFTER_NAME.contains(&word.keyword))
}

/// Rewrites SELECT … INTO to CREATE TABLE … AS, and adds the schema to DROP TEMPORARY TABLE.
pub fn select_into(statement: ast::Statement) -> Result<ast::Statement, EngineError> {
    match statement {
        ast::Statement::Query(mut query) => {
            let Some(into) = first_select(&mut query.body).and_then(|select| select.into.take()) else {
                return Ok(ast::Statement::Query(query));
            };
            let SelectInto { temporary, unlogged, name, .. } = into;
            if unlogged {
                return Err(EngineError::unsupported(
                    "SELECT INTO UNLOGGED",
                    Some("write INTO TABLE, or INTO VOLATILE for a table in memory"),
                ));
            }
            let create = CreateTableBuilder::new(name).temporary(temporary).query(Some(query)).build();
            Ok(ast::Statement::CreateTable(create))
        }
        ast::Statement::Drop { object_type: ObjectType::Table, temporary: true, if_exists, mut names, cascade, restrict, purge, table } => {
            for name in names.iter_mut().filter(|name| name.0.len() == 1) {
                name.0.insert(0, ObjectNamePart::Identifier(Ident::new(TEMP)));
            }
            let object_type = ObjectType::Table;
            Ok(ast::Statement::Drop { object_type, temporary: false, if_exists, names, cascade, restrict, purge, table })
        }
        other => Ok(other),
    }
}

/// The SELECT that may have INTO: the first one of a UNION.
fn first_select(mut body: &mut SetExpr) -> Option<&mut Select> {
    loop {
        match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::SetOperation { left, .. } => body = left,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;
    use crate::QuiverDialect;

    fn said(sql: &str) -> String {
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        volatile_as_temporary(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect::<String>().replace("EOF", "")
    }

    #[test]
    fn volatile_is_another_word_for_temporary() {
        let cases = [
            ("create or replace volatile table c as select 1", "create or replace TEMPORARY table c as select 1"),
            ("CREATE VOLATILE TABLE IF NOT EXISTS c (a INT)", "CREATE TEMPORARY TABLE IF NOT EXISTS c (a INT)"),
            ("DROP TEMP TABLE c", "DROP TEMPORARY TABLE c"),
            ("SELECT a INTO volatile c FROM t", "SELECT a INTO TEMPORARY c FROM t"),
            ("SELECT 1 INTO VOLATILE TABLE c", "SELECT 1 INTO TEMPORARY TABLE c"),
            ("WITH x AS (SELECT 1) SELECT * INTO VOLATILE \"from\" FROM x", "WITH x AS (SELECT 1) SELECT * INTO TEMPORARY \"from\" FROM x"),
        ];
        for (sql, expected) in cases {
            assert_eq!(said(sql), expected);
        }
    }

    #[test]
    fn a_table_may_be_called_volatile() {
        for sql in [
            "SELECT a INTO volatile FROM t",
            "SELECT 1 INTO volatile",
            "INSERT INTO volatile VALUES (1)",
            "INSERT INTO volatile (a) SELECT 1",
            "MERGE INTO volatile v USING t ON a = b WHEN MATCHED THEN DELETE",
            "CREATE TABLE volatile (temp INT)",
            "SELECT volatile FROM temp",
            "CREATE FUNCTION f() RETURNS INT VOLATILE",
            "SELECT 1 INTO \"VOLATILE\" c",
        ] {
            assert_eq!(said(sql), sql);
        }
    }
}
