//! Access control: users, roles and grants in memory.
//!
//! Invariant: the memory has what redb has. A change is one transaction of redb, and the next reader sees it. A change
//! that drops an object drops the grants on it in the same transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalog::{CatalogReader, CatalogWriter, GrantObject, GrantRecord, PrincipalRecord, TableId};
use crate::error::{Result, StoreError};
use crate::names::SYSTEM_NAMESPACE;
use crate::state::{CatalogState, TableState};

/// The privilege of a principal on what it has created. The names of all others come from the layer above.
pub const OWNERSHIP: &str = "OWNERSHIP";

/// The user who makes a transaction.
pub trait Author: std::fmt::Debug + Send + Sync {
    fn name(&self) -> &str;

    /// Says why the user may not drop this. It is checked at the commit, against the state at that moment.
    fn check_drop(&self, object: &GrantObject, namespace: &str, name: &str) -> Result<(), String>;

    /// Says why the user may not change these tables any more. It is checked at the commit, because the privilege may have
    /// been revoked since the tables were changed.
    fn check_changes(&self, tables: &BTreeSet<TableId>) -> Result<(), String>;
}

/// Users, roles and grants at one moment. A change makes a new value, so this one may be kept and compared by address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Access {
    principals: BTreeMap<String, Arc<PrincipalRecord>>,
    /// By grantee; no set is empty.
    grants: BTreeMap<String, BTreeMap<GrantObject, BTreeSet<String>>>,
}

impl Access {
    pub(crate) fn load(reader: &CatalogReader) -> Result<Access> {
        let mut access = Access::default();
        for record in reader.principals()? {
            access.put(record);
        }
        for record in reader.grants()? {
            access.grants.entry(record.grantee).or_default().insert(record.object, record.privileges);
        }
        Ok(access)
    }

    pub fn principal(&self, name: &str) -> Option<&Arc<PrincipalRecord>> {
        self.principals.get(name)
    }

    /// By name.
    pub fn principals(&self) -> impl Iterator<Item = &Arc<PrincipalRecord>> {
        self.principals.values()
    }

    pub fn has_users(&self) -> bool {
        self.principals.values().any(|record| record.is_user())
    }

    /// The direct grants to this principal, without those that it has by its roles.
    pub fn grants_to(&self, grantee: &str) -> impl Iterator<Item = (&GrantObject, &BTreeSet<String>)> {
        self.grants.get(grantee).into_iter().flatten()
    }

    pub fn grants(&self) -> impl Iterator<Item = (&str, &GrantObject, &BTreeSet<String>)> {
        self.grants
            .iter()
            .flat_map(|(grantee, grants)| grants.iter().map(move |(object, privileges)| (grantee.as_str(), object, privileges)))
    }

    /// Replaces the principal of the same name.
    pub fn put(&mut self, record: PrincipalRecord) {
        self.principals.insert(record.name.clone(), Arc::new(record));
    }

    /// Removes a principal with all its grants, and takes the role of its name from everybody.
    pub fn remove(&mut self, name: &str) {
        self.principals.remove(name);
        self.grants.remove(name);
        for record in self.principals.values_mut().filter(|record| record.member_of.contains(name)) {
            Arc::make_mut(record).member_of.remove(name);
        }
    }

    pub fn grant(&mut self, grantee: &str, object: GrantObject, privileges: impl IntoIterator<Item = String>) {
        let has = self.grants.entry(grantee.to_string()).or_default().entry(object).or_default();
        has.extend(privileges);
    }

    /// Privileges that were not granted are ignored.
    pub fn revoke(&mut self, grantee: &str, object: &GrantObject, privileges: &BTreeSet<String>) {
        let Some(grants) = self.grants.get_mut(grantee) else { return };
        if let Some(has) = grants.get_mut(object) {
            has.retain(|privilege| !privileges.contains(privilege));
        }
        grants.retain(|_, has| !has.is_empty());
        self.grants.retain(|_, grants| !grants.is_empty());
    }

    /// Removes the grants on objects that are gone.
    pub fn retain_objects(&mut self, is_there: impl Fn(&GrantObject) -> bool) {
        self.grants.values_mut().for_each(|grants| grants.retain(|object, _| is_there(object)));
        self.grants.retain(|_, grants| !grants.is_empty());
    }

    fn forget(&mut self, objects: &BTreeSet<GrantObject>) {
        self.retain_objects(|object| !objects.contains(object));
    }

    /// The access after a commit: its author owns what it has created, and no grants are left on what it has dropped. `None` if
    /// nothing changes.
    pub(crate) fn following(&self, before: &CatalogState, after: &CatalogState, author: Option<&str>) -> Option<Access> {
        // PUBLIC may have grants before the first user exists.
        if self.principals.is_empty() && self.grants.is_empty() {
            return None;
        }
        let author = author.filter(|author| self.principals.contains_key(*author));
        let new_objects = author.map_or_else(BTreeSet::new, |_| objects_missing_in(before, after));
        let removed = objects_missing_in(after, before);
        if new_objects.is_empty() && removed.is_empty() {
            return None;
        }
        let mut next = self.clone();
        next.forget(&removed);
        for object in new_objects {
            author.iter().for_each(|author| next.grant(author, object.clone(), [OWNERSHIP.to_string()]));
        }
        (next != *self).then_some(next)
    }

    /// Writes the difference to `old`.
    pub(crate) fn persist(&self, writer: &mut CatalogWriter, old: &Access) -> Result<()> {
        for (name, record) in self.principals.iter().filter(|(name, record)| old.principals.get(*name) != Some(*record)) {
            debug_assert_eq!(*name, record.name);
            writer.put_principal(record)?;
        }
        for name in old.principals.keys().filter(|name| !self.principals.contains_key(*name)) {
            writer.remove_principal(name)?;
        }
        for (grantee, object, privileges) in self.grants() {
            if old.granted(grantee, object) != Some(privileges) {
                let record = GrantRecord { grantee: grantee.to_string(), object: object.clone(), privileges: privileges.clone() };
                writer.put_grant(&record)?;
            }
        }
        for (grantee, object, _) in old.grants() {
            if self.granted(grantee, object).is_none() {
                writer.remove_grant(grantee, object)?;
            }
        }
        Ok(())
    }

    fn granted(&self, grantee: &str, object: &GrantObject) -> Option<&BTreeSet<String>> {
        self.grants.get(grantee)?.get(object)
    }
}

/// An error if a commit would change tables that its author may not change any more, or drop objects that the author may not
/// drop: by name, although another object may have that name by now, or with their schema. The commits are locked.
pub(crate) fn check_author(author: &dyn Author, before: &CatalogState, after: &CatalogState) -> Result<()> {
    let changed = after.tables.changed_since(&before.tables).map(|table| table.record.id).collect();
    author.check_changes(&changed).map_err(StoreError::Denied)?;
    let mut removed = objects_missing_in(after, before);
    if !Arc::ptr_eq(&before.views, &after.views) {
        let replaced = before.views.iter().filter(|(name, view)| after.views.get(*name).is_some_and(|now| now != *view));
        removed.extend(replaced.map(|((namespace, name), _)| GrantObject::View(namespace.clone(), name.clone())));
    }
    for object in &removed {
        let (namespace, name) = match object {
            GrantObject::Table(id) => match before.table_by_id(*id) {
                Some(table) => (table.record.namespace.as_str(), table.record.name.as_str()),
                None => continue,
            },
            GrantObject::View(namespace, name) => (namespace.as_str(), name.as_str()),
            GrantObject::Schema(name) => (name.as_str(), name.as_str()),
            // Their rows in the table of objects say who may drop them.
            GrantObject::Store | GrantObject::Group(_) | GrantObject::Blob(_) | GrantObject::Function(_) => continue,
        };
        author.check_drop(object, namespace, name).map_err(StoreError::Denied)?;
    }
    Ok(())
}

/// A user who may not drop a table gets this error, and learns nothing of other obstacles.
pub(crate) fn rights_first(author: Option<&Arc<dyn Author>>, error: StoreError) -> StoreError {
    let (Some(author), StoreError::KeptBySnapshot { id, namespace, table, .. }) = (author, &error) else { return error };
    match author.check_drop(&GrantObject::Table(*id), namespace, table) {
        Ok(()) => error,
        Err(why) => StoreError::Denied(why),
    }
}

/// The objects of `all` that `state` does not have.
fn objects_missing_in(state: &CatalogState, all: &CatalogState) -> BTreeSet<GrantObject> {
    // Who happens to write first to a table of the store's own does not own it.
    let is_missing = |table: &&Arc<TableState>| state.table_by_id(table.record.id).is_none() && table.record.namespace != SYSTEM_NAMESPACE;
    let tables = all.tables.changed_since(&state.tables).filter(is_missing).map(|table| GrantObject::Table(table.record.id));
    let mut objects: BTreeSet<GrantObject> = tables.collect();
    if !Arc::ptr_eq(&all.namespaces, &state.namespaces) {
        let missing = all.namespaces.difference(&state.namespaces).filter(|name| *name != SYSTEM_NAMESPACE);
        objects.extend(missing.map(|name| GrantObject::Schema(name.clone())));
    }
    if !Arc::ptr_eq(&all.views, &state.views) {
        let missing = all.views.keys().filter(|name| !state.views.contains_key(*name));
        objects.extend(missing.map(|(namespace, name)| GrantObject::View(namespace.clone(), name.clone())));
    }
    objects
}
