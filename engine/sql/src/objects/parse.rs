//! Parses tokens to a statement about objects.

use datafusion::common::{DataFusionError, TableReference};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::statement::{BlobChange, GroupChange, ObjectName, ObjectStatement, Search, SearchOrder, Selection, Tag};
use crate::locate::offset_of;
use crate::parse_error::parse_error;
use crate::parse_steps::{accept, end, expect, expression, name, qualified_name};
use crate::significant_tokens::{is_word, significant};
use common::error::EngineError;
use common::names::ObjectKind;

type Parsed<T> = Result<T, ParserError>;

/// The word after ON, TAG and ADD, the one after FIND, and the kind.
const KINDS: [(&str, &str, ObjectKind); 6] = [
    ("TABLE", "TABLES", ObjectKind::Table),
    ("VIEW", "VIEWS", ObjectKind::View),
    ("ARRAY", "ARRAYS", ObjectKind::Array),
    ("GROUP", "GROUPS", ObjectKind::Group),
    ("BLOB", "BLOBS", ObjectKind::Blob),
    ("FUNCTION", "FUNCTIONS", ObjectKind::Function),
];

/// The statement, if it is one of these. `limit` is the limit for the recursion of the parser.
pub fn parse_objects(
    sql: &str,
    dialect: &dyn Dialect,
    limit: usize,
    tokens: &[TokenWithSpan],
) -> Result<Option<ObjectStatement>, EngineError> {
    let mut words = significant(tokens).map(|(_, token)| token);
    let (Some(first), second, third) = (words.next().map(|token| &token.token), words.next().map(|token| &token.token), words.next())
    else {
        return Ok(None);
    };
    let begins = |one: &str, two: &str| is_word(first, one) && second.is_some_and(|word| is_word(word, two));
    let begins_with_kind = |one: &str, several: bool| {
        let words = KINDS.iter().map(|(singular, plural, _)| if several { *plural } else { *singular });
        words.chain(["OBJECTS"]).any(|two| begins(one, two))
    };
    if let Some(from) = third.filter(|token| begins("TAG", "OBJECTS") && is_word(&token.token, "FROM")) {
        return Ok(Some(ObjectStatement::TagFrom { query: from_here(sql, from) }));
    }
    // A table may be called "blob" or "blobs": COPY blobs FROM 'file' is about a table.
    let names_file = significant(tokens).nth(3).is_some_and(|(_, token)| matches!(token.token, Token::SingleQuotedString(_)));
    if let Some(from) = third.filter(|token| begins("COPY", "BLOBS") && is_word(&token.token, "FROM") && !names_file) {
        return Ok(Some(ObjectStatement::CopyBlobs { query: from_here(sql, from) }));
    }
    let names_blob =
        third.is_some_and(|token| matches!(token.token, Token::Word(_)) && !["FROM", "TO"].iter().any(|word| is_word(&token.token, word)));
    if is_word(first, "ALTER") && sets_tier(tokens) {
        let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens_with_locations(tokens.to_vec());
        parser.next_token();
        let parsed = set_tier(&mut parser).and_then(|statement| end(&mut parser).map(|()| statement));
        return parsed.map(Some).map_err(|error| parse_error(sql, DataFusionError::from(error)));
    }
    let (taken, parse): (usize, fn(&mut Parser<'_>) -> Parsed<ObjectStatement>) = match () {
        () if begins("COMMENT", "ON") => (2, comment),
        () if begins("CREATE", "GROUP") => (2, create_group),
        () if begins("ALTER", "GROUP") => (2, alter_group),
        () if begins("DROP", "GROUP") => (2, drop_group),
        () if begins("COPY", "BLOB") && names_blob => (2, copy_blob),
        () if begins("DROP", "BLOB") => (2, drop_blob),
        () if begins("ALTER", "BLOB") => (2, alter_blob),
        () if begins_with_kind("TAG", false) => (1, tag),
        () if begins_with_kind("UNTAG", false) => (1, untag),
        () if begins_with_kind("FIND", true) => (1, find),
        () => return Ok(None),
    };
    let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens_with_locations(tokens.to_vec());
    (0..taken).for_each(|_| drop(parser.next_token()));
    let parsed = parse(&mut parser).and_then(|statement| end(&mut parser).map(|()| statement));
    parsed.map(Some).map_err(|error| parse_error(sql, DataFusionError::from(error)))
}

/// Whether the last words are SET TIER and a name, or SET TIER POLICY and a text.
fn sets_tier(tokens: &[TokenWithSpan]) -> bool {
    let words: Vec<&Token> = significant(tokens).map(|(_, token)| &token.token).filter(|token| **token != Token::SemiColon).collect();
    let word = |from_end: usize, keyword: &str| words.len().checked_sub(from_end).is_some_and(|at| is_word(words[at], keyword));
    word(3, "SET") && word(2, "TIER") || word(4, "SET") && word(3, "TIER") && word(2, "POLICY")
}

fn set_tier(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let object = object(parser)?;
    expect(parser, &["SET", "TIER"])?;
    if matches!(parser.peek_nth_token(1).token, Token::SingleQuotedString(_)) && accept(parser, &["POLICY"]) {
        return Ok(ObjectStatement::SetTierPolicy { object, policy: parser.parse_literal_string()? });
    }
    Ok(ObjectStatement::SetTier { object, tier: name(parser)? })
}

/// The statement from this token on, at the same positions: an error in it is shown where it is.
fn from_here(sql: &str, token: &TokenWithSpan) -> String {
    let start = offset_of(sql, token.span.start.line, token.span.start.column);
    let before = sql[..start].chars().map(|character| if character == '\n' { '\n' } else { ' ' });
    before.chain(sql[start..].chars()).collect()
}

fn accept_kind(parser: &mut Parser<'_>) -> Option<ObjectKind> {
    KINDS.iter().find(|(word, _, _)| accept(parser, &[word])).map(|(_, _, kind)| *kind)
}

fn object(parser: &mut Parser<'_>) -> Parsed<ObjectName> {
    let Some(kind) = accept_kind(parser) else {
        let token = parser.peek_token();
        return parser.expected("TABLE, VIEW, ARRAY, GROUP, BLOB or FUNCTION", token);
    };
    Ok(ObjectName { kind, name: qualified_name(parser)? })
}

/// The kind counts until the next one: `TABLE a, b, GROUP c`. A word before a comma or the end is a name.
fn objects(parser: &mut Parser<'_>) -> Parsed<Vec<ObjectName>> {
    let mut all = vec![object(parser)?];
    while parser.consume_token(&Token::Comma) {
        let names_next = matches!(parser.peek_nth_token(1).token, Token::Word(_));
        let last = all[all.len() - 1].kind;
        let kind = if names_next { accept_kind(parser) } else { None };
        all.push(ObjectName { kind: kind.unwrap_or(last), name: qualified_name(parser)? });
    }
    Ok(all)
}

fn comment(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let on = object(parser)?;
    expect(parser, &["IS"])?;
    let token = parser.next_token();
    let comment = match token.token {
        Token::SingleQuotedString(text) => Some(text),
        ref word if is_word(word, "NULL") => None,
        _ => return parser.expected("a text in single quotes, or NULL", token),
    };
    Ok(ObjectStatement::Comment { on, comment })
}

fn create_group(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let if_not_exists = accept(parser, &["IF", "NOT", "EXISTS"]);
    let name = qualified_name(parser)?;
    let within = if accept(parser, &["IN"]) { Some(qualified_name(parser)?) } else { None };
    let tags = if accept(parser, &["WITH", "TAGS"]) { tags(parser)? } else { Vec::new() };
    Ok(ObjectStatement::CreateGroup { name, if_not_exists, within, tags })
}

fn alter_group(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let name = qualified_name(parser)?;
    let change = match () {
        () if accept(parser, &["ADD"]) => GroupChange::Add(objects(parser)?),
        () if accept(parser, &["REMOVE"]) => GroupChange::Remove(objects(parser)?),
        () if accept(parser, &["RENAME", "TO"]) => GroupChange::Rename(qualified_name(parser)?),
        () if accept(parser, &["SET"]) => GroupChange::ReadOnly(read_only(parser)?),
        () => {
            let token = parser.peek_token();
            return parser.expected("ADD, REMOVE, RENAME TO or SET", token);
        }
    };
    Ok(ObjectStatement::AlterGroup { name, change })
}

fn drop_group(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let if_exists = accept(parser, &["IF", "EXISTS"]);
    let name = qualified_name(parser)?;
    let cascade = accept(parser, &["CASCADE"]);
    accept(parser, &["RESTRICT"]);
    Ok(ObjectStatement::DropGroup { name, if_exists, cascade })
}

/// `(read_only)` and `(read_only = true)` are the same.
pub fn read_only(parser: &mut Parser<'_>) -> Parsed<bool> {
    parser.expect_token(&Token::LParen)?;
    expect(parser, &["READ_ONLY"])?;
    let is_read_only = !parser.consume_token(&Token::Eq) || accept(parser, &["TRUE"]) || {
        expect(parser, &["FALSE"])?;
        false
    };
    parser.expect_token(&Token::RParen)?;
    Ok(is_read_only)
}

fn copy_blob(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let name = qualified_name(parser)?;
    let is_from = accept(parser, &["FROM"]);
    if !is_from {
        expect(parser, &["TO"])?;
    }
    let path = parser.parse_literal_string()?;
    if !is_from {
        return Ok(ObjectStatement::CopyBlobTo { name, path });
    }
    let tags = if accept(parser, &["WITH", "TAGS"]) { tags(parser)? } else { Vec::new() };
    Ok(ObjectStatement::CopyBlobFrom { name, path, tags })
}

fn drop_blob(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let if_exists = accept(parser, &["IF", "EXISTS"]);
    Ok(ObjectStatement::DropBlob { name: qualified_name(parser)?, if_exists })
}

fn alter_blob(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let name = qualified_name(parser)?;
    let change = match () {
        () if accept(parser, &["RENAME", "TO"]) => BlobChange::Rename(qualified_name(parser)?),
        () if accept(parser, &["SET"]) => BlobChange::ReadOnly(read_only(parser)?),
        () => {
            let token = parser.peek_token();
            return parser.expected("RENAME TO or SET", token);
        }
    };
    Ok(ObjectStatement::AlterBlob { name, change })
}

fn tag(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let objects = selection(parser)?;
    expect(parser, &["SET"])?;
    Ok(ObjectStatement::Tag { objects, tags: tags(parser)? })
}

fn untag(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let objects = selection(parser)?;
    if accept(parser, &["ALL"]) {
        return Ok(ObjectStatement::Untag { objects, keys: None });
    }
    parser.expect_token(&Token::LParen)?;
    let keys = parser.parse_comma_separated(name)?;
    parser.expect_token(&Token::RParen)?;
    Ok(ObjectStatement::Untag { objects, keys: Some(keys) })
}

pub fn tags(parser: &mut Parser<'_>) -> Parsed<Vec<Tag>> {
    parser.expect_token(&Token::LParen)?;
    let tags = parser.parse_comma_separated(|parser| {
        let key = name(parser)?;
        parser.expect_token(&Token::Eq)?;
        Ok(Tag { key, value: expression(parser)? })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(tags)
}

/// Objects by name, or those that satisfy a condition: a change of all objects has to be said as `WHERE true`.
fn selection(parser: &mut Parser<'_>) -> Parsed<Selection> {
    if !accept(parser, &["OBJECTS"]) {
        return objects(parser).map(Selection::Named);
    }
    let within = group_around(parser)?;
    if within.is_none() || is_word(&parser.peek_token().token, "WHERE") {
        expect(parser, &["WHERE"])?;
        let condition = Some(Box::new(parser.parse_expr()?));
        return Ok(Selection::Found(Search { within, condition, ..Search::default() }));
    }
    Ok(Selection::Found(Search { within, ..Search::default() }))
}

fn group_around(parser: &mut Parser<'_>) -> Parsed<Option<TableReference>> {
    if accept(parser, &["IN", "GROUP"]) { qualified_name(parser).map(Some) } else { Ok(None) }
}

fn find(parser: &mut Parser<'_>) -> Parsed<ObjectStatement> {
    let kind = KINDS.iter().find(|(_, word, _)| accept(parser, &[word])).map(|(_, _, kind)| *kind);
    if kind.is_none() {
        expect(parser, &["OBJECTS"])?;
    }
    let mut search = Search { kind, within: group_around(parser)?, ..Search::default() };
    if accept(parser, &["WHERE"]) {
        search.condition = Some(Box::new(parser.parse_expr()?));
    }
    if accept(parser, &["ORDER", "BY"]) {
        search.order = parser.parse_comma_separated(order)?;
    }
    if accept(parser, &["LIMIT"]) {
        search.limit = Some(count(parser)?);
    }
    if accept(parser, &["OFFSET"]) {
        search.offset = count(parser)?;
    }
    let into = if accept(parser, &["INTO", "GROUP"]) { Some(qualified_name(parser)?) } else { None };
    Ok(ObjectStatement::Find { search, into })
}

/// As everywhere in our SQL, NULL is the largest value.
fn order(parser: &mut Parser<'_>) -> Parsed<SearchOrder> {
    let key = parser.parse_expr()?;
    let descending = accept(parser, &["DESC"]);
    if !descending {
        accept(parser, &["ASC"]);
    }
    let nulls_first = match () {
        () if accept(parser, &["NULLS", "FIRST"]) => true,
        () if accept(parser, &["NULLS", "LAST"]) => false,
        () => descending,
    };
    Ok(SearchOrder { key, descending, nulls_first })
}

fn count(parser: &mut Parser<'_>) -> Parsed<usize> {
    let token = parser.next_token();
    match &token.token {
        Token::Number(digits, _) if digits.parse::<usize>().is_ok() => Ok(digits.parse().unwrap_or(usize::MAX)),
        _ => parser.expected("a whole number", token),
    }
}
