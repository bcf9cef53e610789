//! Users and roles of the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use pmem_store::{Access, PrincipalRecord, StoreError};

use common::error::EngineError;
pub use common::names::PUBLIC;

/// The name and all of its roles, also those inherited from other roles, and [`PUBLIC`].
pub fn all_roles(access: &Access, name: &str) -> BTreeSet<String> {
    let mut roles = BTreeSet::from([PUBLIC.to_string()]);
    let mut unseen = vec![name.to_string()];
    while let Some(name) = unseen.pop() {
        if let Some(record) = access.principal(&name) {
            unseen.extend(record.member_of.iter().filter(|role| !roles.contains(*role)).cloned());
        }
        roles.insert(name);
    }
    roles
}

/// The user or role of this name.
pub fn principal<'a>(access: &'a Access, name: &str) -> Result<&'a Arc<PrincipalRecord>, EngineError> {
    access.principal(name).ok_or_else(|| no_principal(access, "user or role", name))
}

/// Unquoted names in SQL are in lower case; names of users need not be.
pub fn no_principal(access: &Access, kind: &'static str, name: &str) -> EngineError {
    let other = access.principals().find(|record| record.name != name && record.name.to_lowercase() == name.to_lowercase());
    match other {
        Some(other) => EngineError::NoPrincipal {
            kind,
            name: name.to_string(),
            hint: format!("there is \"{}\": write the name in double quotes", other.name),
        },
        None => StoreError::DoesNotExist { kind, name: name.to_string() }.into(),
    }
}

/// An error if a change would leave users but no admin, where there was one before.
pub fn check_admins_left(before: &Access, after: &Access) -> Result<(), EngineError> {
    let has_admin = |access: &Access| access.principals().any(|record| record.is_user() && record.is_admin);
    if has_admin(before) && !has_admin(after) && after.has_users() {
        let what = "no admin would be left for the other users; make another user one first: ALTER USER name ADMIN";
        return Err(StoreError::Refused(what.into()).into());
    }
    Ok(())
}
