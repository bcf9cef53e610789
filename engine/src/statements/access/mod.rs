//! Runs the statements about users, roles and grants: each is one durable change, effective at once.

pub mod current_access;
pub mod grants;
pub mod object;
pub mod principals;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use pmem_store::Access;

use self::current_access::CurrentAccess;
use crate::execution::StatementContext;
use crate::system::grants_batch;
use common::error::EngineError;
use sql::access::statement::{AccessStatement, GrantTarget, UserChange};
use table::blocking::blocking;
use table::commit_guard::{CommitGuard, StopReason};
use table::transactions::state_error;

/// A change of users, roles and grants. It runs under the commit lock, so neither they nor their objects can change meanwhile.
pub type Change = Box<dyn FnOnce(&CurrentAccess, &mut Access) -> Result<(), EngineError> + Send>;

/// The columns of its result; `None` if it has none.
pub fn result_schema(statement: &AccessStatement) -> Option<SchemaRef> {
    match statement {
        AccessStatement::ShowGrants { .. } => grants_batch(&[]).ok().map(|rows| rows.schema()),
        _ => None,
    }
}

/// The rows of SHOW GRANTS.
pub async fn run_access(ctx: &StatementContext, statement: AccessStatement) -> Result<Option<RecordBatch>, EngineError> {
    if let AccessStatement::ShowGrants { of } = &statement {
        return grants::shown(ctx, of.as_deref()).map(Some);
    }
    if ctx.catalog.transaction().is_open() {
        let message = "users, roles and grants change at once and for everybody, so that is no part of a transaction";
        return Err(state_error(message, "end the transaction first"));
    }
    if let AccessStatement::Grant { on: GrantTarget::Table(name), .. } | AccessStatement::Revoke { on: GrantTarget::Table(name), .. } =
        &statement
    {
        ctx.catalog.check_stored(name, "grants on")?;
    }
    ctx.catalog.write_scope().check_writable()?;
    // Checked before a password is hashed in vain.
    ctx.catalog.check(|authorization| match &statement {
        AccessStatement::Grant { .. } | AccessStatement::Revoke { .. } => Ok(()),
        AccessStatement::AlterUser { name, change: UserChange::Password(_) } if name == authorization.user() => Ok(()),
        _ => authorization.admin(principals::MANAGE),
    })?;
    let (store, access, commit_guard) = (Arc::clone(&ctx.engine.store), ctx.access.clone(), Arc::clone(ctx.commit_guard()));
    let mut stop_on_drop = StopWhenLeft(Some(Arc::clone(&commit_guard)));
    // A hash takes tens of milliseconds, and the commit needs a flush.
    let changed = blocking(move || {
        let change = change_of(statement)?;
        let changed = store.change_access(|users| {
            change(&CurrentAccess::of(&store, access.as_deref())?, users)?;
            // A stop comes before this, or too late.
            commit_guard.begin_commit()
        });
        if changed.is_err() {
            commit_guard.abandon_commit();
        }
        changed
    })
    .await;
    stop_on_drop.0 = None;
    changed.map(|()| None)
}

/// If the caller is dropped, the change does not happen, unless its commit has begun.
struct StopWhenLeft(Option<Arc<CommitGuard>>);

impl Drop for StopWhenLeft {
    fn drop(&mut self) {
        if let Some(commit_guard) = &self.0 {
            commit_guard.stop(StopReason::Killed);
        }
    }
}

fn change_of(statement: AccessStatement) -> Result<Change, EngineError> {
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
        AccessStatement::Grant { privileges, on, to } => grants::grant(privileges, on, to),
        AccessStatement::Revoke { privileges, on, from } => grants::revoke(privileges, on, from),
        AccessStatement::ShowGrants { .. } => return Err(EngineError::internal("SHOW GRANTS changes nothing")),
    })
}
