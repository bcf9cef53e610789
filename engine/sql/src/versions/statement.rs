//! The statements about versions, which the parser does not know:
//!
//! ```text
//! CREATE SNAPSHOT [IF NOT EXISTS] name
//! DROP SNAPSHOT [IF EXISTS] name
//! SHOW SNAPSHOTS
//! RESTORE TABLE t TO VERSION 3 | SNAPSHOT name | TIMESTAMP time
//! EXPIRE VERSIONS BEFORE VERSION 3 | OLDER THAN INTERVAL '7 days'
//! ALTER SYSTEM SET retention = '7 days';  ALTER SYSTEM RESET retention
//! ```

use datafusion::common::{DataFusionError, TableReference};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::point::Point;
use crate::parse_error::parse_error;
use crate::parse_steps::{accept, end, expect, expression, name, qualified_name};
use crate::significant_tokens::{is_word, significant};
use common::error::EngineError;

#[derive(Debug)]
pub enum VersionStatement {
    CreateSnapshot {
        name: String,
        if_not_exists: bool,
    },
    DropSnapshot {
        name: String,
        if_exists: bool,
    },
    ShowSnapshots,
    Restore {
        table: TableReference,
        to: Point,
    },
    Expire(Expiry),
    /// The value is an SQL expression; `None` resets it to the default of new stores.
    AlterSystem {
        setting: String,
        value: Option<String>,
    },
}

#[derive(Debug)]
pub enum Expiry {
    Before(u64),
    /// A duration, as SQL.
    OlderThan(String),
}

/// The statement, if it is one of these.
pub fn parse_versions(sql: &str, dialect: &dyn Dialect, tokens: &[TokenWithSpan]) -> Result<Option<VersionStatement>, EngineError> {
    let mut words = significant(tokens).map(|(_, token)| &token.token);
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return Ok(None) };
    let begins = |one: &str, two: &str| is_word(first, one) && is_word(second, two);
    let parse: fn(&mut Parser<'_>) -> Result<VersionStatement, ParserError> = match () {
        () if begins("CREATE", "SNAPSHOT") => create_snapshot,
        () if begins("DROP", "SNAPSHOT") => drop_snapshot,
        () if begins("SHOW", "SNAPSHOTS") => |_| Ok(VersionStatement::ShowSnapshots),
        () if begins("RESTORE", "TABLE") => restore,
        () if begins("EXPIRE", "VERSIONS") => expire,
        () if begins("ALTER", "SYSTEM") => alter_system,
        () => return Ok(None),
    };
    let mut parser = Parser::new(dialect).with_tokens_with_locations(tokens.to_vec());
    let _ = (parser.next_token(), parser.next_token());
    let parsed = parse(&mut parser).and_then(|statement| end(&mut parser).map(|()| statement));
    parsed.map(Some).map_err(|error| parse_error(sql, DataFusionError::from(error)))
}

fn version(parser: &mut Parser<'_>) -> Result<u64, ParserError> {
    let token = parser.next_token();
    match Point::of_token(&token.token) {
        Some(Point::Version(version)) => Ok(version),
        _ => parser.expected("the number of a version", token),
    }
}

fn create_snapshot(parser: &mut Parser<'_>) -> Result<VersionStatement, ParserError> {
    let if_not_exists = accept(parser, &["IF", "NOT", "EXISTS"]);
    Ok(VersionStatement::CreateSnapshot { name: name(parser)?, if_not_exists })
}

fn drop_snapshot(parser: &mut Parser<'_>) -> Result<VersionStatement, ParserError> {
    let if_exists = accept(parser, &["IF", "EXISTS"]);
    Ok(VersionStatement::DropSnapshot { name: name(parser)?, if_exists })
}

/// Also accepts AS OF after VERSION and TIMESTAMP, as after a table.
fn restore(parser: &mut Parser<'_>) -> Result<VersionStatement, ParserError> {
    let table = qualified_name(parser)?;
    expect(parser, &["TO"])?;
    let to = if accept(parser, &["VERSION"]) {
        accept(parser, &["AS", "OF"]);
        let token = parser.next_token();
        match Point::of_token(&token.token) {
            Some(point) => point,
            None => return parser.expected("the number of a version, or the name of a snapshot in quotes", token),
        }
    } else if accept(parser, &["SNAPSHOT"]) {
        Point::Snapshot(name(parser)?)
    } else if accept(parser, &["TIMESTAMP", "AS", "OF"]) || accept(parser, &["TIMESTAMP"]) {
        Point::Time(expression(parser)?)
    } else {
        let token = parser.peek_token();
        return parser.expected("VERSION, SNAPSHOT or TIMESTAMP", token);
    };
    Ok(VersionStatement::Restore { table, to })
}

fn expire(parser: &mut Parser<'_>) -> Result<VersionStatement, ParserError> {
    if accept(parser, &["BEFORE", "VERSION"]) {
        return Ok(VersionStatement::Expire(Expiry::Before(version(parser)?)));
    }
    if accept(parser, &["OLDER", "THAN"]) {
        return Ok(VersionStatement::Expire(Expiry::OlderThan(expression(parser)?)));
    }
    let token = parser.peek_token();
    parser.expected("BEFORE VERSION n or OLDER THAN INTERVAL '7 days'", token)
}

fn alter_system(parser: &mut Parser<'_>) -> Result<VersionStatement, ParserError> {
    if accept(parser, &["RESET"]) {
        return Ok(VersionStatement::AlterSystem { setting: name(parser)?, value: None });
    }
    expect(parser, &["SET"])?;
    let setting = name(parser)?;
    if !parser.consume_token(&Token::Eq) {
        expect(parser, &["TO"])?;
    }
    let value = if accept(parser, &["DEFAULT"]) { None } else { Some(expression(parser)?) };
    Ok(VersionStatement::AlterSystem { setting, value })
}
