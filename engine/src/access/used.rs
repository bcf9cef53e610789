//! The privileges that an open transaction has made use of: it commits only if they are there still.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use pmem_store::{GrantObject, TableId};

use super::privilege::{Privilege, Privileges};
use super::rights::Rights;
use crate::sql::{qualified, quoted};

/// Of the session's transaction; empty where none is open.
#[derive(Debug, Default)]
pub struct UsedPrivileges(Mutex<Vec<Used>>);

#[derive(Debug)]
struct Used {
    object: GrantObject,
    /// What a table was called then.
    schema: String,
    name: String,
    privilege: Privilege,
}

impl UsedPrivileges {
    pub fn note(&self, privilege: Privilege, object: GrantObject, schema: &str, name: &str) {
        let mut used = self.0.lock();
        if !used.iter().any(|known| known.privilege == privilege && known.object == object) {
            used.push(Used { object, schema: schema.to_string(), name: name.to_string(), privilege });
        }
    }

    pub fn forget(&self) {
        self.0.lock().clear();
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The tables among what they are on.
    pub fn tables(&self) -> BTreeSet<TableId> {
        let used = self.0.lock();
        used.iter().filter_map(|used| if let GrantObject::Table(id) = used.object { Some(id) } else { None }).collect()
    }

    /// The sentence of one that `rights` does not have any more. On tables that are not among the `changed` ones nothing was
    /// done with it.
    pub fn check(&self, rights: &Rights, changed: &BTreeSet<TableId>) -> Result<(), String> {
        let is_about_it = |used: &&Used| !matches!(used.object, GrantObject::Table(id) if !changed.contains(&id));
        let used = self.0.lock();
        match used.iter().filter(is_about_it).find(|used| !used.among(rights).has(used.privilege)) {
            Some(used) => Err(used.sentence()),
            None => Ok(()),
        }
    }
}

impl Used {
    fn among(&self, rights: &Rights) -> Privileges {
        match &self.object {
            GrantObject::Store => rights.on_store(),
            GrantObject::Schema(name) => rights.on_schema(name),
            GrantObject::Table(id) => rights.on_table(*id, &self.schema),
            GrantObject::View(schema, name) => rights.on_view(schema, name),
        }
    }

    fn sentence(&self) -> String {
        let on = match &self.object {
            GrantObject::Store => "the store".to_string(),
            GrantObject::Schema(name) => format!("schema {}", quoted(name)),
            GrantObject::Table(_) => format!("table {}", qualified(&self.schema, &self.name)),
            GrantObject::View(schema, name) => format!("view {}", qualified(schema, name)),
        };
        format!("the transaction was rolled back: it needs the privilege {} on {on}, which was revoked since", self.privilege)
    }
}
