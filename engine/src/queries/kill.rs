//! `KILL n`, or `KILL QUERY n`: ends the statement of that number in `system.queries`.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, KillType};

use super::gate::{Stop, Stopped};
use super::registry::Queries;
use crate::error::EngineError;

/// The number that a KILL names; None for other statements.
pub fn killed_by(statement: &Statement) -> Result<Option<u64>, EngineError> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    match statement.as_ref() {
        ast::Statement::Kill { modifier: None | Some(KillType::Query), id } => Ok(Some(*id)),
        ast::Statement::Kill { .. } => {
            Err(EngineError::unsupported("KILL of anything but a query", Some("write KILL and the query_id of system.queries")))
        }
        _ => Ok(None),
    }
}

pub fn is_kill(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(statement) if matches!(statement.as_ref(), ast::Statement::Kill { .. }))
}

impl Queries {
    /// Ends a statement for `user`, who may end those of others only as an administrator.
    pub fn kill(&self, id: u64, user: &str, is_admin: bool) -> Result<(), EngineError> {
        let unknown = || EngineError::NoSuchQuery { id };
        let query = self.find(id).ok_or_else(unknown)?;
        if *query.user != *user && !is_admin {
            return Err(EngineError::NotOwnQuery { id });
        }
        match self.stop(&query, Stop::Killed) {
            Stopped::Now | Stopped::Before => Ok(()),
            Stopped::TooLate => Err(EngineError::QueryDone { id }),
        }
    }
}
