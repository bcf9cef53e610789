//! `KILL n`, or `KILL QUERY n`: stops the statement with that number in `system.queries`.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, KillType};

use super::principal::Principal;
use super::registry::Queries;
use common::error::EngineError;
use table::commit_guard::{StopOutcome, StopReason};

/// The number in a KILL; `None` for other statements.
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
    /// Stops a statement on behalf of `who`. Only administrators may stop statements of others.
    pub fn kill(&self, id: u64, who: &Principal, is_admin: bool) -> Result<(), EngineError> {
        let unknown = || EngineError::NoSuchQuery { id };
        let query = self.find(id).ok_or_else(unknown)?;
        if query.principal != *who && !is_admin {
            return Err(EngineError::NotOwnQuery { id });
        }
        match self.stop(&query, StopReason::Killed) {
            StopOutcome::Now | StopOutcome::Before => Ok(()),
            StopOutcome::TooLate => Err(EngineError::QueryDone { id }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AdmissionLimits;
    use super::*;

    #[test]
    fn a_user_of_the_name_of_the_process_ends_none_of_its_statements() {
        let queries = Queries::new(AdmissionLimits::default());
        let [process, user] = [Principal::process("ann"), Principal::user("ann")];
        let [of_process, of_user] = [&process, &user].map(|principal| queries.register_statement(1, principal, "SELECT 1", None, None));
        let ends = |who: &Principal, id| queries.kill(id, who, false);
        assert!(matches!(ends(&user, of_process.query().id), Err(EngineError::NotOwnQuery { .. })));
        assert!(matches!(ends(&process, of_user.query().id), Err(EngineError::NotOwnQuery { .. })));
        ends(&process, of_process.query().id).unwrap();
        ends(&user, of_user.query().id).unwrap();
    }
}
