//! The principal of a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::objects::ObjectsStamp;
use pmem_store::{Access, Author, GrantObject, ObjectOwner, PrincipalRecord, Snapshot, Store, TableId};

use super::authorization::Authorization;
use super::effective_privileges::EffectivePrivileges;
use super::used_privileges::UsedPrivileges;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::qualified;

/// An authenticated user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    name: String,
    epoch: u64,
    is_admin: bool,
}

impl Identity {
    /// `None` for a role.
    pub fn of(record: &PrincipalRecord) -> Option<Identity> {
        record.is_user().then(|| Identity { name: record.name.clone(), epoch: record.epoch, is_admin: record.is_admin })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Changes with each new password, and differs for a later user of the same name.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// As of when the identity was created.
    pub fn is_admin(&self) -> bool {
        self.is_admin
    }

    pub(super) fn without_admin(self) -> Identity {
        Identity { is_admin: false, ..self }
    }

    /// The current state of the same user; an error if the user is gone or has a new password.
    pub(super) fn now(&self, access: &Access) -> Result<Identity, EngineError> {
        let now = access.principal(&self.name).and_then(|record| Identity::of(record));
        now.filter(|now| now.epoch == self.epoch).ok_or_else(|| {
            let name = &self.name;
            EngineError::Unauthenticated { message: format!("user \"{name}\" is gone or has another password by now; log in again") }
        })
    }
}

#[derive(Debug)]
struct CachedPrivileges {
    access: Arc<Access>,
    /// Of the objects, if the privileges depend on what is in groups.
    objects: Option<ObjectsStamp>,
    effective_privileges: Arc<EffectivePrivileges>,
}

/// The rights of a session's user, looked up for each statement.
#[derive(Debug)]
pub struct SessionAccess {
    identity: Identity,
    store: Arc<Store>,
    /// The cached privileges, with the users and grants from which they were computed.
    cache: Mutex<Option<CachedPrivileges>>,
    /// The privileges that the session's open transaction used.
    pub used: Arc<UsedPrivileges>,
    /// The owners whose rights procedures have had in the open transaction.
    definers: Mutex<Vec<Arc<SessionAccess>>>,
}

impl SessionAccess {
    pub fn new(store: &Arc<Store>, identity: &Identity) -> Result<SessionAccess, EngineError> {
        let (identity, store) = (identity.clone(), Arc::clone(store));
        let access = SessionAccess { identity, store, cache: Mutex::default(), used: Arc::default(), definers: Mutex::default() };
        access.effective_privileges()?;
        Ok(access)
    }

    pub fn effective_privileges(&self) -> Result<Arc<EffectivePrivileges>, EngineError> {
        let now = self.store.access();
        let mut cache = self.cache.lock();
        if let Some(cached) = &*cache
            && Arc::ptr_eq(&cached.access, &now)
            && (cached.objects.is_none() || cached.objects == Some(self.store.snapshot()?.objects()?.stamp()))
        {
            return Ok(Arc::clone(&cached.effective_privileges));
        }
        // If the user is gone, nothing stays cached.
        *cache = None;
        let snapshot = self.store.snapshot()?;
        let effective_privileges = Arc::new(EffectivePrivileges::of(&now, self.identity.now(&now)?, &snapshot)?);
        let objects = if effective_privileges.depend_on_groups() { Some(snapshot.objects()?.stamp()) } else { None };
        *cache = Some(CachedPrivileges { access: now, objects, effective_privileges: Arc::clone(&effective_privileges) });
        Ok(effective_privileges)
    }

    /// The current authorization. `base` is the snapshot with which an open transaction began: it owns what it created since.
    pub fn authorization(&self, base: Option<Arc<Snapshot>>) -> Result<Authorization, EngineError> {
        Ok(Authorization::new(self.effective_privileges()?, base, &self.used))
    }

    /// The rights of the user who has created a procedure, for its statements in the open transaction. Errors are those of `definer_access`.
    pub fn definer(&self, procedure: &str, object: ObjectOwner<'_>) -> Result<Arc<SessionAccess>, EngineError> {
        let mut definers = self.definers.lock();
        let definer = definer_access(&self.store, procedure, object)?;
        if let Some(known) = definers.iter().find(|known| known.identity == definer.identity) {
            return Ok(Arc::clone(known));
        }
        definers.push(Arc::clone(&definer));
        Ok(definer)
    }

    pub fn definers(&self) -> Vec<Arc<SessionAccess>> {
        self.definers.lock().clone()
    }

    /// Forgets which privileges the transaction has used, at its end.
    pub fn forget_used(&self) {
        self.used.forget();
        self.definers.lock().clear();
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// An authorization without rights, for a user who no longer exists.
    pub fn nothing(&self) -> Authorization {
        Authorization::new(Arc::new(EffectivePrivileges::none(self.identity.clone())), None, &self.used)
    }
}

/// Without the names of what the caller may not see.
pub const DEFINER_MISSES: &str = "the transaction was rolled back: the owner of a procedure that it called may not do any more what it did";

/// The rights of the user who has created a procedure.
///
/// # Errors
///
/// The user is gone; a later one of the same name has created nothing of it.
pub fn definer_access(store: &Arc<Store>, procedure: &str, object: ObjectOwner<'_>) -> Result<Arc<SessionAccess>, EngineError> {
    let access = store.access();
    let record = object.owner.and_then(|owner| access.principal(owner)).filter(|record| object.created_at_ms >= record.created_at_ms);
    match record.and_then(|record| Identity::of(record)) {
        Some(identity) => Ok(Arc::new(SessionAccess::new(store, &identity)?)),
        None => Err(EngineError::Denied {
            message: format!("procedure {procedure} has the rights of its owner, and no user owns it any more"),
            hint: "an admin can drop it, and a user who has the rights can create it again".into(),
        }),
    }
}

impl Author for SessionAccess {
    fn name(&self) -> &str {
        self.identity.name()
    }

    fn check_drop(&self, object: &GrantObject, namespace: &str, name: &str) -> Result<(), String> {
        let effective_privileges = self.effective_privileges().map_err(|error| error.to_string())?;
        let has = match object {
            GrantObject::Table(id) => effective_privileges.on_table(*id, namespace),
            GrantObject::View(..) => effective_privileges.on_view(namespace, name),
            GrantObject::Group(id) | GrantObject::Blob(id) | GrantObject::Function(id) => effective_privileges.on_object(*id),
            GrantObject::Schema(_) | GrantObject::Store => effective_privileges.on_schema(name),
        };
        match has.has(Privilege::Ownership) {
            true => Ok(()),
            false => Err(format!(
                "you may not drop or replace {}, which you do not own; choose another name, or ask its owner",
                qualified(namespace, name)
            )),
        }
    }

    fn check_changes(&self, tables: &BTreeSet<TableId>) -> Result<(), String> {
        let is_missing = |definer: &Arc<SessionAccess>| definer.check_changes(tables).is_err();
        if self.definers().iter().any(is_missing) {
            return Err(DEFINER_MISSES.to_string());
        }
        if self.used.is_empty() {
            return Ok(());
        }
        let effective_privileges = self.effective_privileges().map_err(|error| error.to_string())?;
        self.used.check(&effective_privileges, |object| !matches!(object, GrantObject::Table(id) if !tables.contains(id)))
    }
}
