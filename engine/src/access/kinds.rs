//! Whether a user may run a statement of a kind at all.
//!
//! Invariant: a kind that is not named here is refused. Those that are let through hold what they name against the
//! user's privileges where they do it; the test `a_user_without_rights_can_do_nothing_with_what_others_have` has them all.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use super::permit::Permit;
use common::error::EngineError;
use sql::{MaintenanceStatement, Parsed, VersionStatement};

pub fn check_kind(permit: &Permit, parsed: &Parsed) -> Result<(), EngineError> {
    match parsed {
        Parsed::CopyFrom(_) => permit.files("COPY FROM a file"),
        Parsed::CopyTo(_) => permit.files("COPY TO a file"),
        Parsed::CreateTable(..) | Parsed::AlterTable(..) | Parsed::Access(_) => Ok(()),
        Parsed::Versions(statement) => match statement {
            VersionStatement::ShowSnapshots | VersionStatement::Restore { .. } => Ok(()),
            VersionStatement::CreateSnapshot { .. } => permit.admin("CREATE SNAPSHOT"),
            VersionStatement::DropSnapshot { .. } => permit.admin("DROP SNAPSHOT"),
            VersionStatement::Expire(_) => permit.admin("EXPIRE VERSIONS"),
            VersionStatement::AlterSystem { .. } => permit.admin("ALTER SYSTEM"),
        },
        Parsed::Maintenance(statement) => match statement {
            MaintenanceStatement::Optimize { .. } | MaintenanceStatement::Flush => Ok(()),
            MaintenanceStatement::Checkpoint => permit.admin("CHECKPOINT"),
            // It has every table in it, and what passwords are held against.
            MaintenanceStatement::Backup { .. } => permit.admin("BACKUP"),
        },
        Parsed::Statement(statement) => check_statement(permit, statement),
    }
}

fn check_statement(permit: &Permit, statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Statement(statement) => check_sql(permit, statement),
        Statement::Explain(explain) => check_statement(permit, &explain.statement),
        Statement::CreateExternalTable(_) => permit.files("CREATE EXTERNAL TABLE"),
        Statement::CopyTo(_) => permit.files("COPY TO a file"),
        Statement::Reset(_) => Ok(()),
    }
}

fn check_sql(permit: &Permit, statement: &ast::Statement) -> Result<(), EngineError> {
    use ast::Statement as Sql;
    match statement {
        Sql::Query(_) | Sql::Insert(_) | Sql::Update(_) | Sql::Delete(_) | Sql::Merge(_) | Sql::Truncate(_) => Ok(()),
        Sql::CreateSchema { .. } | Sql::CreateView(_) | Sql::Drop { .. } => Ok(()),
        Sql::ExplainTable { .. } | Sql::ShowTables { .. } | Sql::ShowViews { .. } | Sql::ShowSchemas { .. } | Sql::ShowColumns { .. } => {
            Ok(())
        }
        Sql::ShowFunctions { .. } | Sql::ShowVariable { .. } | Sql::ShowVariables { .. } | Sql::ShowCreate { .. } => Ok(()),
        // It looks at whose the other statement is.
        Sql::Kill { .. } => Ok(()),
        Sql::Set(_) | Sql::Reset(_) | Sql::Execute { .. } | Sql::Deallocate { .. } => Ok(()),
        Sql::StartTransaction { .. } | Sql::Commit { .. } | Sql::Rollback { .. } | Sql::Savepoint { .. } | Sql::ReleaseSavepoint { .. } => {
            Ok(())
        }
        Sql::Prepare { statement, .. } | Sql::Explain { statement, .. } => check_sql(permit, statement),
        _ => permit.admin("run a statement of this kind"),
    }
}
