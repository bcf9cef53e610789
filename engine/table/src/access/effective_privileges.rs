//! The effective privileges of a user at one state of users and grants.

use std::collections::{BTreeSet, HashMap};

use pmem_store::objects::{ObjectId, ObjectKind};
use pmem_store::{Access, GrantObject, Snapshot, StoreError, TableId};

use super::identity::Identity;
use super::principals::all_roles;
use common::privilege::{Privilege, Privileges};

/// Keyed by object, so that a lookup allocates no name: each insert of a row checks.
#[derive(Debug)]
pub struct EffectivePrivileges {
    pub identity: Identity,
    /// What is older belonged to another user of this name.
    pub user_created_at_ms: u64,
    /// The user's name and all roles.
    pub names: BTreeSet<String>,
    store: Privileges,
    schemas: HashMap<String, Privileges>,
    tables: HashMap<TableId, Privileges>,
    /// By schema, then by name.
    views: HashMap<String, HashMap<String, Privileges>>,
    /// Groups, blobs and functions.
    objects: HashMap<ObjectId, Privileges>,
    /// The groups whose members may be read.
    read_groups: Vec<ObjectId>,
}

impl EffectivePrivileges {
    /// `snapshot` says which objects are in which groups.
    pub fn of(access: &Access, identity: Identity, snapshot: &Snapshot) -> Result<EffectivePrivileges, StoreError> {
        let mut effective_privileges = EffectivePrivileges::without(identity);
        let user = access.principal(effective_privileges.identity.name());
        effective_privileges.user_created_at_ms = user.map_or(0, |user| user.created_at_ms);
        effective_privileges.names = all_roles(access, effective_privileges.identity.name());
        for (object, words) in effective_privileges.names.clone().iter().flat_map(|name| access.grants_to(name)) {
            let has = effective_privileges.place(object);
            *has = has.and(Privileges::of_words(words));
            if let GrantObject::Group(group) = object
                && has.has(Privilege::Select)
            {
                effective_privileges.read_groups.push(*group);
            }
        }
        effective_privileges.read_members(snapshot)?;
        Ok(effective_privileges)
    }

    /// SELECT on a group is SELECT on everything below it, and EXECUTE on functions.
    fn read_members(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        if self.read_groups.is_empty() {
            return Ok(());
        }
        let (objects, views) = (snapshot.objects()?, snapshot.views()?);
        let (read, execute) = (Privileges::NONE.with(Privilege::Select), Privileges::NONE.with(Privilege::Execute));
        for group in self.read_groups.clone() {
            // Grants stay a while after their group was dropped.
            if objects.get(group)?.is_none() {
                continue;
            }
            for (id, kind) in objects.kinds_below(group)? {
                let view = |id: ObjectId| views.iter().find(|view| view.id == id);
                let object = match kind {
                    ObjectKind::Table | ObjectKind::Array => GrantObject::Table(id),
                    ObjectKind::Group => GrantObject::Group(id),
                    ObjectKind::Blob => GrantObject::Blob(id),
                    ObjectKind::Function => GrantObject::Function(id),
                    ObjectKind::View => match view(id) {
                        Some(view) => GrantObject::View(view.namespace.clone(), view.name.clone()),
                        None => continue,
                    },
                };
                let granted = if kind == ObjectKind::Function { execute } else { read };
                let has = self.place(&object);
                *has = has.and(granted);
            }
        }
        Ok(())
    }

    /// Whether they depend on what is in groups.
    pub fn depend_on_groups(&self) -> bool {
        !self.read_groups.is_empty()
    }

    pub fn none(identity: Identity) -> EffectivePrivileges {
        EffectivePrivileges::without(identity.without_admin())
    }

    fn without(identity: Identity) -> EffectivePrivileges {
        let (schemas, tables, views, objects) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        let (names, read_groups) = (BTreeSet::new(), Vec::new());
        EffectivePrivileges {
            identity,
            user_created_at_ms: 0,
            names,
            store: Privileges::NONE,
            schemas,
            tables,
            views,
            objects,
            read_groups,
        }
    }

    fn place(&mut self, object: &GrantObject) -> &mut Privileges {
        match object {
            GrantObject::Store => &mut self.store,
            GrantObject::Schema(name) => self.schemas.entry(name.clone()).or_default(),
            GrantObject::Table(id) => self.tables.entry(*id).or_default(),
            GrantObject::Group(id) | GrantObject::Blob(id) | GrantObject::Function(id) => self.objects.entry(*id).or_default(),
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

    /// On a group, blob or function.
    pub fn on_object(&self, id: ObjectId) -> Privileges {
        self.granted(self.objects.get(&id))
    }

    fn granted(&self, privileges: Option<&Privileges>) -> Privileges {
        match self.identity.is_admin() {
            true => Privileges::EVERY,
            false => privileges.copied().unwrap_or_default(),
        }
    }
}
