//! A point in the history of the store.

use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::QuiverDialect;
use common::error::EngineError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Point {
    Version(u64),
    Snapshot(String),
    /// An expression, as SQL.
    Time(String),
}

impl Point {
    /// `3`, or a snapshot's name in quotes.
    pub fn of_token(token: &Token) -> Option<Point> {
        match token {
            Token::Number(digits, _) => digits.parse().ok().map(Point::Version),
            Token::SingleQuotedString(name) => Some(Point::Snapshot(name.clone())),
            _ => None,
        }
    }

    /// Parses the text after FOR: `VERSION AS OF 3`.
    pub fn of_clause(clause: &str) -> Result<Point, EngineError> {
        let wrong = || {
            let hint = Some("a version is a number, or the name of a snapshot in quotes".to_string());
            EngineError::Sql { message: format!("\"FOR {clause}\" is not a version"), position: None, hint }
        };
        if let Some(time) = clause.strip_prefix("SYSTEM_TIME AS OF ") {
            return Ok(Point::Time(time.to_string()));
        }
        let version = clause.strip_prefix("VERSION AS OF ").ok_or_else(wrong)?;
        let tokens = Tokenizer::new(&QuiverDialect, version).tokenize().map_err(|_| wrong())?;
        tokens.first().and_then(Point::of_token).ok_or_else(wrong)
    }
}
