//! The statements about the storage of tables, which the parser does not know:
//!
//! ```text
//! OPTIMIZE TABLE t [FULL]
//! CHECKPOINT
//! FLUSH
//! BACKUP TO 'directory' [COPY]
//! ```

use std::path::PathBuf;

use datafusion::common::{DataFusionError, TableReference};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::parse_error::parse_error;
use super::parse_steps::{end, qualified_name};
use super::significant_tokens::{is_word, significant};
use common::error::EngineError;

#[derive(Debug)]
pub enum MaintenanceStatement {
    Optimize { table: TableReference, full: bool },
    Checkpoint,
    Flush,
    Backup { to: PathBuf, copies: bool },
}

/// The statement, if it is one of these.
pub fn parse_maintenance(sql: &str, dialect: &dyn Dialect, tokens: &[TokenWithSpan]) -> Result<Option<MaintenanceStatement>, EngineError> {
    let mut words = significant(tokens).map(|(_, token)| &token.token);
    let Some(first) = words.next() else { return Ok(None) };
    let parse: fn(&mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> = match () {
        () if is_word(first, "OPTIMIZE") => optimize,
        () if is_word(first, "CHECKPOINT") => |_| Ok(MaintenanceStatement::Checkpoint),
        () if is_word(first, "FLUSH") => |_| Ok(MaintenanceStatement::Flush),
        () if is_word(first, "BACKUP") => backup,
        () => return Ok(None),
    };
    let mut parser = Parser::new(dialect).with_tokens_with_locations(tokens.to_vec());
    let _ = parser.next_token();
    let parsed = parse(&mut parser).and_then(|statement| end(&mut parser).map(|()| statement));
    parsed.map(Some).map_err(|error| parse_error(sql, DataFusionError::from(error)))
}

fn optimize(parser: &mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> {
    let token = parser.next_token();
    if !is_word(&token.token, "TABLE") {
        return parser.expected("TABLE", token);
    }
    let table = qualified_name(parser)?;
    let full = is_word(&parser.peek_token().token, "FULL");
    if full {
        let _ = parser.next_token();
    }
    Ok(MaintenanceStatement::Optimize { table, full })
}

fn backup(parser: &mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> {
    let token = parser.next_token();
    if !is_word(&token.token, "TO") {
        return parser.expected("TO", token);
    }
    let token = parser.next_token();
    let Token::SingleQuotedString(to) = &token.token else {
        return parser.expected("a directory in single quotes", token);
    };
    let to = PathBuf::from(to);
    let copies = is_word(&parser.peek_token().token, "COPY");
    if copies {
        let _ = parser.next_token();
    }
    Ok(MaintenanceStatement::Backup { to, copies })
}
