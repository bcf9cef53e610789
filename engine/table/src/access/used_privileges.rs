//! The privileges that an open transaction has used: it commits only if they still exist. Also the privileges that one statement used to
//! read.

use parking_lot::Mutex;
use pmem_store::GrantObject;

use super::effective_privileges::EffectivePrivileges;
use common::privilege::{Privilege, Privileges};
use common::type_names::{qualified, quoted};

/// Those of the session's transaction, empty if none is open; or those of a statement.
#[derive(Debug, Default)]
pub struct UsedPrivileges(Mutex<Vec<UsedPrivilege>>);

#[derive(Debug)]
struct UsedPrivilege {
    object: GrantObject,
    /// The name of the table at that time.
    schema: String,
    name: String,
    privilege: Privilege,
    /// Also where the transaction has not changed the object itself, but what is kept of it elsewhere.
    is_always_needed: bool,
}

impl UsedPrivileges {
    pub fn note(&self, privilege: Privilege, object: GrantObject, schema: &str, name: &str) {
        self.note_use(privilege, object, schema, name, false);
    }

    /// For a change of the tags, the comment or the groups of an object.
    pub fn note_always(&self, privilege: Privilege, object: GrantObject, schema: &str, name: &str) {
        self.note_use(privilege, object, schema, name, true);
    }

    fn note_use(&self, privilege: Privilege, object: GrantObject, schema: &str, name: &str, is_always_needed: bool) {
        let mut used = self.0.lock();
        match used.iter_mut().find(|other| other.privilege == privilege && other.object == object) {
            Some(other) => other.is_always_needed |= is_always_needed,
            None => used.push(UsedPrivilege { object, schema: schema.to_string(), name: name.to_string(), privilege, is_always_needed }),
        }
    }

    pub fn forget(&self) {
        self.0.lock().clear();
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Whether they are privileges on tables and nothing else.
    pub fn are_of_tables(&self) -> bool {
        self.0.lock().iter().all(|used| matches!(used.object, GrantObject::Table(_)))
    }

    /// An error that names a revoked privilege, among those on objects for which `is_done` is true.
    pub fn check(&self, effective_privileges: &EffectivePrivileges, is_done: impl Fn(&GrantObject) -> bool) -> Result<(), String> {
        match self.missing(effective_privileges, is_done) {
            Some(missing) => Err(format!("the transaction was rolled back: it needs {missing}, which was revoked since")),
            None => Ok(()),
        }
    }

    /// The first privilege that `effective_privileges` no longer has, among those on objects for which `asked_for` is true.
    pub fn missing(&self, effective_privileges: &EffectivePrivileges, asked_for: impl Fn(&GrantObject) -> bool) -> Option<String> {
        let used = self.0.lock();
        let mut asked_for = used.iter().filter(|used| used.is_always_needed || asked_for(&used.object));
        asked_for.find(|used| !used.among(effective_privileges).has(used.privilege)).map(UsedPrivilege::words)
    }
}

impl UsedPrivilege {
    fn among(&self, effective_privileges: &EffectivePrivileges) -> Privileges {
        match &self.object {
            GrantObject::Store => effective_privileges.on_store(),
            GrantObject::Schema(name) => effective_privileges.on_schema(name),
            GrantObject::Table(id) => effective_privileges.on_table(*id, &self.schema),
            GrantObject::View(schema, name) => effective_privileges.on_view(schema, name),
            GrantObject::Group(id) | GrantObject::Blob(id) | GrantObject::Function(id) => effective_privileges.on_object(*id),
        }
    }

    fn words(&self) -> String {
        let on = match &self.object {
            GrantObject::Store => "the store".to_string(),
            GrantObject::Schema(name) => format!("schema {}", quoted(name)),
            GrantObject::Table(_) => format!("table {}", qualified(&self.schema, &self.name)),
            GrantObject::View(schema, name) => format!("view {}", qualified(schema, name)),
            GrantObject::Group(_) => format!("group {}", qualified(&self.schema, &self.name)),
            GrantObject::Blob(_) => format!("blob {}", qualified(&self.schema, &self.name)),
            GrantObject::Function(_) => format!("function {}", qualified(&self.schema, &self.name)),
        };
        format!("the privilege {} on {on}", self.privilege)
    }
}
