//! Whether a user may run a kind of statement at all.
//!
//! Invariant: a kind that is not named here is refused. The kinds that pass check the privileges on the objects they name themselves; the
//! test `a_user_without_rights_can_do_nothing_with_what_others_have` covers all of them.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use super::authorization::Authorization;
use common::error::EngineError;
use sql::{MaintenanceStatement, ObjectStatement, Parsed, VersionStatement};

pub fn check_statement_kind(authorization: &Authorization, parsed: &Parsed) -> Result<(), EngineError> {
    match parsed {
        Parsed::CopyFrom(_) => authorization.files("COPY FROM a file"),
        Parsed::CopyTo(_) => authorization.files("COPY TO a file"),
        Parsed::CreateTable(..) | Parsed::AlterTable(..) | Parsed::Arrays(_) | Parsed::Functions(_) | Parsed::Access(_) => Ok(()),
        Parsed::Objects(statement) => match statement {
            ObjectStatement::CopyBlobFrom { .. } => authorization.files("COPY BLOB FROM a file"),
            ObjectStatement::CopyBlobTo { .. } => authorization.files("COPY BLOB TO a file"),
            _ => Ok(()),
        },
        Parsed::Versions(statement) => match statement {
            VersionStatement::ShowSnapshots | VersionStatement::Restore { .. } => Ok(()),
            VersionStatement::CreateSnapshot { .. } => authorization.admin("CREATE SNAPSHOT"),
            VersionStatement::DropSnapshot { .. } => authorization.admin("DROP SNAPSHOT"),
            VersionStatement::Expire(_) => authorization.admin("EXPIRE VERSIONS"),
            VersionStatement::AlterSystem { .. } => authorization.admin("ALTER SYSTEM"),
        },
        Parsed::Maintenance(statement) => match statement {
            MaintenanceStatement::Optimize { .. } | MaintenanceStatement::Flush => Ok(()),
            MaintenanceStatement::Checkpoint => authorization.admin("CHECKPOINT"),
            // A backup contains every table, and the password hashes.
            MaintenanceStatement::Backup { .. } => authorization.admin("BACKUP"),
        },
        Parsed::Summarize(_) => Ok(()),
        Parsed::Statement(statement) => check_statement(authorization, statement),
    }
}

fn check_statement(authorization: &Authorization, statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Statement(statement) => check_sql(authorization, statement),
        Statement::Explain(explain) => check_statement(authorization, &explain.statement),
        Statement::CreateExternalTable(_) => authorization.files("CREATE EXTERNAL TABLE"),
        Statement::CopyTo(_) => authorization.files("COPY TO a file"),
        Statement::Reset(_) => Ok(()),
    }
}

fn check_sql(authorization: &Authorization, statement: &ast::Statement) -> Result<(), EngineError> {
    use ast::Statement as Sql;
    match statement {
        Sql::Query(_) | Sql::Insert(_) | Sql::Update(_) | Sql::Delete(_) | Sql::Merge(_) | Sql::Truncate(_) => Ok(()),
        Sql::CreateSchema { .. } | Sql::CreateView(_) | Sql::Drop { .. } => Ok(()),
        Sql::ExplainTable { .. } | Sql::ShowTables { .. } | Sql::ShowViews { .. } | Sql::ShowSchemas { .. } | Sql::ShowColumns { .. } => {
            Ok(())
        }
        Sql::ShowFunctions { .. } | Sql::ShowVariable { .. } | Sql::ShowVariables { .. } | Sql::ShowCreate { .. } => Ok(()),
        // KILL itself checks who owns the other statement.
        Sql::Kill { .. } => Ok(()),
        Sql::Set(_) | Sql::Reset(_) | Sql::Execute { .. } | Sql::Deallocate { .. } => Ok(()),
        Sql::StartTransaction { .. } | Sql::Commit { .. } | Sql::Rollback { .. } | Sql::Savepoint { .. } | Sql::ReleaseSavepoint { .. } => {
            Ok(())
        }
        Sql::Prepare { statement, .. } | Sql::Explain { statement, .. } => check_sql(authorization, statement),
        _ => authorization.admin("run a statement of this kind"),
    }
}
