//! GRANT, REVOKE and SHOW GRANTS.

use std::collections::BTreeSet;

use arrow::array::RecordBatch;
use pmem_store::objects::ObjectId;
use pmem_store::{Access, GrantObject};

use super::Change;
use super::current_access::CurrentAccess;
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
        forget_dropped(now, access)?;
        for name in &to {
            if name != PUBLIC {
                principal(access, name)?;
            }
            access.grant(name, object.clone(), words.iter().cloned());
        }
        Ok(())
    })
}

/// A group or blob is dropped in a transaction, which cannot change grants. Its id is given to nothing else, so its grants mean nothing
/// from then on, and go with the next change.
fn forget_dropped(now: &CurrentAccess, access: &mut Access) -> Result<(), EngineError> {
    let ids: BTreeSet<ObjectId> = access.grants().filter_map(|(_, object, _)| object_id(object)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let found = now.snapshot().objects()?.get_all(&ids.into_iter().collect::<Vec<_>>())?;
    let left: BTreeSet<ObjectId> = found.into_iter().map(|record| record.id).collect();
    access.retain_objects(|object| object_id(object).is_none_or(|id| left.contains(&id)));
    Ok(())
}

fn object_id(object: &GrantObject) -> Option<ObjectId> {
    match object {
        GrantObject::Group(id) | GrantObject::Blob(id) | GrantObject::Function(id) => Some(*id),
        _ => None,
    }
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
