//! GRANT, REVOKE and SHOW GRANTS.

use arrow::array::RecordBatch;

use super::Change;
use super::object::{owned_object, words_of};
use crate::access::{PUBLIC, all_roles, principal};
use crate::execution::Running;
use crate::system::{GrantRow, grant_rows, grants_batch};
use common::error::EngineError;
use sql::access::statement::{On, Wanted};

pub fn grant(privileges: Wanted, on: On, to: Vec<String>) -> Change {
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

pub fn revoke(privileges: Wanted, on: On, from: Vec<String>) -> Change {
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

/// Those of a name, with what it has by its roles; of who asks without one. A session of the process itself has no
/// name, and sees all.
pub fn shown(running: &Running, of: Option<&str>) -> Result<RecordBatch, EngineError> {
    let permit = running.catalog.permit();
    let access = running.engine.store.access();
    let rows = grant_rows(&access, &running.catalog.snapshot(), permit.as_deref())?;
    let rows: Vec<GrantRow> = match of.or(permit.as_deref().map(|permit| permit.user())) {
        None => rows,
        Some(name) => {
            let may_know = permit.as_deref().is_none_or(|permit| permit.is_admin() || permit.has_name(name));
            if may_know && name != PUBLIC {
                principal(&access, name)?;
            }
            let names = all_roles(&access, name);
            rows.into_iter().filter(|row| names.contains(&row.grantee)).collect()
        }
    };
    Ok(grants_batch(&rows)?)
}
