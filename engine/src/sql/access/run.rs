//! Runs the statements: each is one durable change of users, roles and grants, and holds from then on.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::statement::AccessStatement;
use super::{grants, principals};
use crate::error::EngineError;
use crate::session::Running;
use crate::write::{blocking, state_error};

/// The rows of SHOW GRANTS.
pub async fn run_access(running: &Running, statement: AccessStatement) -> Result<Option<RecordBatch>, EngineError> {
    if let AccessStatement::ShowGrants { of } = &statement {
        return grants::shown(running, of.as_deref()).map(Some);
    }
    if running.catalog.transaction().is_open() {
        let message = "users, roles and grants change at once and for everybody, so that is no part of a transaction";
        return Err(state_error(message, "end the transaction first"));
    }
    running.catalog.write_scope().check_writable()?;
    let store = Arc::clone(&running.engine.store);
    match statement {
        AccessStatement::Grant { privileges, on, to } => {
            let change = grants::grant(running, &privileges, &on, to)?;
            blocking(move || store.change_access(change)).await?;
        }
        AccessStatement::Revoke { privileges, on, from } => {
            let change = grants::revoke(running, &privileges, &on, from)?;
            blocking(move || store.change_access(change)).await?;
        }
        statement => {
            running.catalog.check(|permit| permit.admin("manage users and roles"))?;
            // A hash takes tens of milliseconds, and the commit a flush.
            blocking(move || store.change_access(of_principals(statement)?)).await?;
        }
    }
    Ok(None)
}

fn of_principals(statement: AccessStatement) -> Result<principals::Change, EngineError> {
    Ok(match statement {
        AccessStatement::CreateUser { name, password, is_admin, if_not_exists } => {
            principals::create_user(name, &password, is_admin, if_not_exists)?
        }
        AccessStatement::AlterUser { name, change } => principals::alter_user(name, change)?,
        AccessStatement::DropUser { name, if_exists } => principals::drop_principal(name, true, if_exists),
        AccessStatement::CreateRole { name, if_not_exists } => principals::create_role(name, if_not_exists)?,
        AccessStatement::DropRole { name, if_exists } => principals::drop_principal(name, false, if_exists),
        AccessStatement::GrantRoles { roles, to } => principals::grant_roles(roles, to),
        AccessStatement::RevokeRoles { roles, from } => principals::revoke_roles(roles, from),
        AccessStatement::Grant { .. } | AccessStatement::Revoke { .. } | AccessStatement::ShowGrants { .. } => {
            return Err(EngineError::internal("the statement is about no user or role"));
        }
    })
}
