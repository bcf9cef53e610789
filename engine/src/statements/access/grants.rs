//! GRANT, REVOKE and SHOW GRANTS.

use arrow::array::RecordBatch;

use super::Change;
use super::object::{owned_object, words_of};
use crate::execution::StatementContext;
use crate::system::{GrantRow, grant_rows, grants_batch};
use common::error::EngineError;
use sql::access::statement::{GrantTarget, GrantedPrivileges};
use table::access::{PUBLIC, all_roles, principal};

pub fn grant(privileges: GrantedPrivileges, on: GrantTarget, to: Vec<String>) -> Change {
    Box::new(move |now, access| {
        let object = owned_object(now, &on)?;
        let words = words_of(&privileges, &object)?;
        for name in &to {
            if name != PUBLIC {
                principal(access, name)?;
            }
            access.grant(name, object.clone(), words.iter().cloned());
        }
        Ok(())
    })
}

pub fn revoke(privileges: GrantedPrivileges, on: GrantTarget, from: Vec<String>) -> Change {
    Box::new(move |now, access| {
        let object = owned_object(now, &on)?;
        let words = words_of(&privileges, &object)?;
        for name in &from {
            if name != PUBLIC {
                principal(access, name)?;
            }
            access.revoke(name, &object, &words);
        }
        Ok(())
    })
}

/// The grants to a name, including those of its roles; without a name, to the session's user. A session of the process itself has no
/// name, and sees all grants.
pub fn shown(ctx: &StatementContext, of: Option<&str>) -> Result<RecordBatch, EngineError> {
    let authorization = ctx.catalog.authorization();
    let access = ctx.engine.store.access();
    let rows = grant_rows(&access, &ctx.catalog.snapshot(), authorization.as_deref())?;
    let rows: Vec<GrantRow> = match of.or(authorization.as_deref().map(|authorization| authorization.user())) {
        None => rows,
        Some(name) => {
            let may_know = authorization.as_deref().is_none_or(|authorization| authorization.is_admin() || authorization.has_name(name));
            if may_know && name != PUBLIC {
                principal(&access, name)?;
            }
            let names = all_roles(&access, name);
            rows.into_iter().filter(|row| names.contains(&row.grantee)).collect()
        }
    };
    Ok(grants_batch(&rows)?)
}
