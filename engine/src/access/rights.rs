//! What a user may do, as one state of users and grants has it.

use std::collections::{BTreeSet, HashMap};

use pmem_store::{Access, GrantObject, TableId};

use super::identity::Identity;
use super::principals::all_roles;
use super::privilege::Privileges;

#[derive(Debug)]
pub struct Rights {
    pub identity: Identity,
    /// The user's name and all roles.
    pub names: BTreeSet<String>,
    objects: HashMap<GrantObject, Privileges>,
}

impl Rights {
    pub fn of(access: &Access, identity: Identity) -> Rights {
        let names = all_roles(access, identity.name());
        let mut objects: HashMap<GrantObject, Privileges> = HashMap::new();
        for (object, words) in names.iter().flat_map(|name| access.grants_to(name)) {
            let has = objects.entry(object.clone()).or_default();
            *has = has.and(Privileges::of_words(words));
        }
        Rights { identity, names, objects }
    }

    pub fn none(identity: Identity) -> Rights {
        Rights { identity: identity.without_admin(), names: BTreeSet::new(), objects: HashMap::new() }
    }

    pub fn on_store(&self) -> Privileges {
        self.granted(&GrantObject::Store)
    }

    pub fn on_schema(&self, name: &str) -> Privileges {
        self.granted(&GrantObject::Schema(name.to_string()))
    }

    /// Those on its schema are for all tables in it.
    pub fn on_table(&self, id: TableId, namespace: &str) -> Privileges {
        self.granted(&GrantObject::Table(id)).and(self.on_schema(namespace).for_tables())
    }

    pub fn on_view(&self, namespace: &str, name: &str) -> Privileges {
        let own = self.granted(&GrantObject::View(namespace.to_string(), name.to_string()));
        own.and(self.on_schema(namespace).for_views())
    }

    fn granted(&self, object: &GrantObject) -> Privileges {
        match self.identity.is_admin() {
            true => Privileges::EVERY,
            false => self.objects.get(object).copied().unwrap_or_default(),
        }
    }
}
