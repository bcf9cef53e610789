//! The effective privileges of a user at one state of users and grants.

use std::collections::{BTreeSet, HashMap};

use pmem_store::{Access, GrantObject, TableId};

use super::identity::Identity;
use super::principals::all_roles;
use common::privilege::Privileges;

/// Keyed by object, so that a lookup allocates no name: each insert of a row checks.
#[derive(Debug)]
pub struct EffectivePrivileges {
    pub identity: Identity,
    /// The user's name and all roles.
    pub names: BTreeSet<String>,
    store: Privileges,
    schemas: HashMap<String, Privileges>,
    tables: HashMap<TableId, Privileges>,
    /// By schema, then by name.
    views: HashMap<String, HashMap<String, Privileges>>,
}

impl EffectivePrivileges {
    pub fn of(access: &Access, identity: Identity) -> EffectivePrivileges {
        let mut effective_privileges = EffectivePrivileges::without(identity);
        effective_privileges.names = all_roles(access, effective_privileges.identity.name());
        for (object, words) in effective_privileges.names.clone().iter().flat_map(|name| access.grants_to(name)) {
            let has = effective_privileges.place(object);
            *has = has.and(Privileges::of_words(words));
        }
        effective_privileges
    }

    pub fn none(identity: Identity) -> EffectivePrivileges {
        EffectivePrivileges::without(identity.without_admin())
    }

    fn without(identity: Identity) -> EffectivePrivileges {
        let (schemas, tables, views) = (HashMap::new(), HashMap::new(), HashMap::new());
        EffectivePrivileges { identity, names: BTreeSet::new(), store: Privileges::NONE, schemas, tables, views }
    }

    fn place(&mut self, object: &GrantObject) -> &mut Privileges {
        match object {
            GrantObject::Store => &mut self.store,
            GrantObject::Schema(name) => self.schemas.entry(name.clone()).or_default(),
            GrantObject::Table(id) => self.tables.entry(*id).or_default(),
            GrantObject::View(schema, name) => self.views.entry(schema.clone()).or_default().entry(name.clone()).or_default(),
        }
    }

    pub fn on_store(&self) -> Privileges {
        self.granted(Some(&self.store))
    }

    pub fn on_schema(&self, name: &str) -> Privileges {
        self.granted(self.schemas.get(name))
    }

    /// Privileges on its schema apply to all tables in it.
    pub fn on_table(&self, id: TableId, namespace: &str) -> Privileges {
        self.granted(self.tables.get(&id)).and(self.on_schema(namespace).for_tables())
    }

    pub fn on_view(&self, namespace: &str, name: &str) -> Privileges {
        let own = self.granted(self.views.get(namespace).and_then(|views| views.get(name)));
        own.and(self.on_schema(namespace).for_views())
    }

    fn granted(&self, privileges: Option<&Privileges>) -> Privileges {
        match self.identity.is_admin() {
            true => Privileges::EVERY,
            false => privileges.copied().unwrap_or_default(),
        }
    }
}
