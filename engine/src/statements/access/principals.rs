//! Creates, alters and drops users and roles.

use std::collections::BTreeSet;

use pmem_store::{Access, PrincipalRecord, StoreError};

use super::Change;
use common::clock::now_ms;
use common::error::EngineError;
use sql::access::statement::{Secret, UserChange};
use table::access::{PUBLIC, all_roles, check_admins_left, hashed, no_principal, principal, random_epoch};

const NAME_BYTES_MAX: usize = 128;

/// What only admins may do, for messages.
pub const MANAGE: &str = "manage users and roles";

/// Only admins change users and roles. That is checked at the time of the change, because such a change can revoke it.
fn managed(change: impl FnOnce(&mut Access) -> Result<(), EngineError> + Send + 'static) -> Change {
    Box::new(move |now, access| {
        now.check(|authorization| authorization.admin(MANAGE))?;
        change(access)
    })
}

/// Hashes the password, which takes tens of milliseconds.
pub fn create_user(name: String, password: &Secret, is_admin: bool, if_not_exists: bool) -> Result<Change, EngineError> {
    check_name(&name)?;
    let (password_hash, epoch) = (Some(hashed(password)?), random_epoch()?);
    let record = PrincipalRecord { name, password_hash, epoch, is_admin, member_of: BTreeSet::new(), created_at_ms: now_ms() };
    Ok(managed(move |access| create(access, record, if_not_exists)))
}

pub fn create_role(name: String, if_not_exists: bool) -> Result<Change, EngineError> {
    check_name(&name)?;
    let member_of = BTreeSet::new();
    let record = PrincipalRecord { name, password_hash: None, epoch: random_epoch()?, is_admin: false, member_of, created_at_ms: now_ms() };
    Ok(managed(move |access| create(access, record, if_not_exists)))
}

fn create(access: &mut Access, record: PrincipalRecord, if_not_exists: bool) -> Result<(), EngineError> {
    match access.principal(&record.name) {
        Some(principal) if if_not_exists && principal.is_user() == record.is_user() => {}
        Some(principal) => return Err(StoreError::AlreadyExists { kind: kind(principal.is_user()), name: record.name }.into()),
        None => access.put(record),
    }
    Ok(())
}

/// Hashes a new password, which takes tens of milliseconds.
pub fn alter_user(name: String, change: UserChange) -> Result<Change, EngineError> {
    let new_password = match &change {
        UserChange::Password(password) => Some((hashed(password)?, random_epoch()?)),
        UserChange::Admin(_) => None,
    };
    let is_password = new_password.is_some();
    Ok(Box::new(move |now, access| {
        // Users may change their own password.
        now.check(|authorization| if is_password && authorization.user() == name { Ok(()) } else { authorization.admin(MANAGE) })?;
        let mut record = existing(access, &name, true)?;
        match (change, new_password) {
            (UserChange::Admin(is_admin), _) => record.is_admin = is_admin,
            (UserChange::Password(_), Some((hash, epoch))) => (record.password_hash, record.epoch) = (Some(hash), epoch),
            (UserChange::Password(_), None) => unreachable!("a new password has a hash"),
        }
        let before = access.clone();
        access.put(record);
        check_admins_left(&before, access)
    }))
}

pub fn drop_principal(name: String, is_user: bool, if_exists: bool) -> Change {
    managed(move |access| {
        if if_exists && access.principal(&name).is_none() {
            return Ok(());
        }
        existing(access, &name, is_user)?;
        let before = access.clone();
        access.remove(&name);
        check_admins_left(&before, access)
    })
}

pub fn grant_roles(roles: Vec<String>, to: Vec<String>) -> Change {
    managed(move |access| {
        for role in &roles {
            existing(access, role, false)?;
            for name in &to {
                let mut record = principal(access, name)?.as_ref().clone();
                if all_roles(access, role).contains(name) {
                    let what = format!("role \"{role}\" has the role \"{name}\" itself, so it cannot be granted to it");
                    return Err(StoreError::Refused(what).into());
                }
                record.member_of.insert(role.clone());
                access.put(record);
            }
        }
        Ok(())
    })
}

pub fn revoke_roles(roles: Vec<String>, from: Vec<String>) -> Change {
    managed(move |access| {
        for name in &from {
            let mut record = principal(access, name)?.as_ref().clone();
            for role in &roles {
                existing(access, role, false)?;
                record.member_of.remove(role);
            }
            access.put(record);
        }
        Ok(())
    })
}

fn existing(access: &Access, name: &str, is_user: bool) -> Result<PrincipalRecord, EngineError> {
    let record = access.principal(name).filter(|record| record.is_user() == is_user);
    record.map(|record| record.as_ref().clone()).ok_or_else(|| no_principal(access, kind(is_user), name))
}

fn kind(is_user: bool) -> &'static str {
    if is_user { "user" } else { "role" }
}

/// Names occur in headers, certificates and logs.
fn check_name(name: &str) -> Result<(), EngineError> {
    let refused = |message: String| Err(EngineError::Sql { message, position: None, hint: Some("choose another name".into()) });
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return refused(format!("the name of a user or role has 1 to {NAME_BYTES_MAX} bytes"));
    }
    if name.contains(|char: char| char.is_control() || char == ':') || name.trim() != name {
        return refused("the name of a user or role has no colon, no line end, and no space around it".into());
    }
    // In GRANT these words mean something else.
    if name == PUBLIC || name == "all" || common::privilege::Privilege::of_word(name).is_some() {
        return refused(format!("no user or role can be called \"{name}\""));
    }
    Ok(())
}
