//! The authorization of one statement: what its user may do and see.
//!
//! Invariant: the snapshot of a statement has no object on which the user has no privilege.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pmem_store::{DEFAULT_NAMESPACE, GrantObject, ObjectOwner, Snapshot, TableId, TableRecord, ViewRecord, Visibility};

use super::effective_privileges::EffectivePrivileges;
use super::used_privileges::UsedPrivileges;
use common::error::EngineError;
use common::privilege::{Privilege, Privileges};
use common::type_names::{qualified, quoted};

#[derive(Debug)]
pub struct Authorization {
    effective_privileges: Arc<EffectivePrivileges>,
    /// The snapshot with which the open transaction began. Objects that are not in it were created, and are owned, by the transaction.
    base: Option<Arc<Snapshot>>,
    /// The privileges that the transaction used.
    used: Arc<UsedPrivileges>,
    /// The privileges that this statement used to read: every scan and view records them.
    reads: UsedPrivileges,
    /// Whether the statement calls a function of a user.
    executes: AtomicBool,
}

impl Authorization {
    pub fn new(effective_privileges: Arc<EffectivePrivileges>, base: Option<Arc<Snapshot>>, used: &Arc<UsedPrivileges>) -> Authorization {
        Authorization {
            effective_privileges,
            base,
            used: Arc::clone(used),
            reads: UsedPrivileges::default(),
            executes: AtomicBool::new(false),
        }
    }

    pub fn reads(&self) -> &UsedPrivileges {
        &self.reads
    }

    /// Whether tables are all that the statement has needed rights for.
    pub fn reads_nothing_but_tables(&self) -> bool {
        !self.executes.load(Ordering::Relaxed) && self.reads.are_of_tables()
    }

    pub fn user(&self) -> &str {
        self.effective_privileges.identity.name()
    }

    pub fn is_admin(&self) -> bool {
        self.effective_privileges.identity.is_admin()
    }

    /// Whether this is the name of the user or of one of their roles.
    pub fn has_name(&self, name: &str) -> bool {
        self.effective_privileges.names.contains(name)
    }

    pub fn on_table(&self, id: TableId, namespace: &str) -> Privileges {
        match self.is_older(|base| base.changed_version(id).is_some()) {
            true => self.effective_privileges.on_table(id, namespace),
            false => Privileges::EVERY,
        }
    }

    pub fn on_view(&self, namespace: &str, name: &str) -> Privileges {
        match self.is_older(|base| has_view(base, namespace, name)) {
            true => self.effective_privileges.on_view(namespace, name),
            false => Privileges::EVERY,
        }
    }

    pub fn on_schema(&self, name: &str) -> Privileges {
        match self.is_older(|base| base.has_namespace(name)) {
            true => self.effective_privileges.on_schema(name),
            false => Privileges::EVERY,
        }
    }

    /// Whether an object is older than the open transaction.
    fn is_older(&self, has: impl FnOnce(&Snapshot) -> bool) -> bool {
        self.base.as_deref().is_none_or(has)
    }

    pub fn table(&self, privilege: Privilege, table: &TableRecord) -> Result<(), EngineError> {
        self.known_table(privilege, table.id, &table.namespace, &table.name)
    }

    pub fn known_table(&self, privilege: Privilege, id: TableId, namespace: &str, name: &str) -> Result<(), EngineError> {
        let full_name = || qualified(namespace, name);
        self.require(self.on_table(id, namespace), privilege, || (format!("table {}", full_name()), full_name()))?;
        if let Some(notes) = self.notes(privilege, |base| base.changed_version(id).is_some()) {
            notes.note(privilege, GrantObject::Table(id), namespace, name);
        }
        Ok(())
    }

    pub fn view(&self, privilege: Privilege, view: &ViewRecord) -> Result<(), EngineError> {
        let name = || qualified(&view.namespace, &view.name);
        self.require(self.on_view(&view.namespace, &view.name), privilege, || (format!("{} {}", view.kind, name()), name()))?;
        if let Some(notes) = self.notes(privilege, |base| has_view(base, &view.namespace, &view.name)) {
            let object = GrantObject::View(view.namespace.clone(), view.name.clone());
            notes.note(privilege, object, &view.namespace, &view.name);
        }
        Ok(())
    }

    pub fn schema(&self, privilege: Privilege, name: &str) -> Result<(), EngineError> {
        let object = || format!("SCHEMA {}", quoted(name));
        self.require(self.on_schema(name), privilege, || (format!("schema {}", quoted(name)), object()))?;
        if let Some(notes) = self.notes(privilege, |base| base.has_namespace(name)) {
            notes.note(privilege, GrantObject::Schema(name.to_string()), name, "");
        }
        Ok(())
    }

    /// Whether the user has made this group, blob or function, which nobody can take away.
    pub fn made(&self, object: ObjectOwner<'_>) -> bool {
        object.owner == Some(self.user()) && object.created_at_ms >= self.effective_privileges.user_created_at_ms
    }

    /// On a group, blob or function. The owner of a schema owns everything in it, as for tables.
    pub fn on_object(&self, object: ObjectOwner<'_>) -> Privileges {
        match self.made(object) {
            true => Privileges::EVERY,
            false => self.effective_privileges.on_object(object.id).and(self.on_schema(object.namespace).for_objects(object.is_function)),
        }
    }

    /// The open transaction changes what is kept of an object beside its rows: the user must still own it at the commit.
    pub fn note_object_change(&self, object: GrantObject, namespace: &str, name: &str) {
        let Some(base) = &self.base else { return };
        let is_older = match &object {
            GrantObject::Table(id) => base.changed_version(*id).is_some(),
            GrantObject::View(namespace, name) => has_view(base, namespace, name),
            GrantObject::Group(id) | GrantObject::Blob(id) | GrantObject::Function(id) => {
                base.objects().is_ok_and(|objects| matches!(objects.get(*id), Ok(Some(_))))
            }
            GrantObject::Schema(_) | GrantObject::Store => false,
        };
        if is_older {
            self.used.note_always(Privilege::Ownership, object, namespace, name);
        }
    }

    /// An error unless the user owns this group, blob or function.
    pub fn owned_object(&self, kind: &str, name: &str, object: ObjectOwner<'_>) -> Result<(), EngineError> {
        match self.on_object(object).has(Privilege::Ownership) {
            true => Ok(()),
            false => Err(EngineError::Denied {
                message: format!("you may not do this: {kind} {name} belongs to somebody else"),
                hint: "ask its owner or an admin to do it".to_string(),
            }),
        }
    }

    /// Requires EXECUTE on a function.
    pub fn execute(&self, name: &str, function: ObjectOwner<'_>) -> Result<(), EngineError> {
        let full_name = || qualified(function.namespace, name);
        let object = || (format!("function {}", full_name()), format!("FUNCTION {}", full_name()));
        self.executes.store(true, Ordering::Relaxed);
        self.require(self.on_object(function), Privilege::Execute, object)
    }

    pub fn create_schema(&self) -> Result<(), EngineError> {
        let object = || ("the store".to_string(), "DATABASE quiver".to_string());
        self.require(self.effective_privileges.on_store(), Privilege::Create, object)?;
        if let Some(notes) = self.notes(Privilege::Create, |_| true) {
            notes.note(Privilege::Create, GrantObject::Store, "", "");
        }
        Ok(())
    }

    /// Where to record the use of a privilege. One that allows changes must still be there when the open transaction commits, one to read
    /// when the result is fetched. Objects that the transaction itself created are not recorded.
    fn notes(&self, privilege: Privilege, has: impl FnOnce(&Snapshot) -> bool) -> Option<&UsedPrivileges> {
        match privilege {
            Privilege::Select => self.is_older(has).then_some(&self.reads),
            privilege => (privilege.changes() && self.base.as_deref().is_some_and(has)).then_some(&*self.used),
        }
    }

    /// Requires FILES, to read and write files with the rights of the process.
    pub fn files(&self, what: &str) -> Result<(), EngineError> {
        match self.has_files() {
            true => Ok(()),
            false => Err(EngineError::Denied {
                message: format!("you may not {what}: it reads or writes files on the server, which needs the privilege FILES"),
                hint: format!("an admin can run: GRANT FILES TO {}", quoted(self.user())),
            }),
        }
    }

    /// Requires the privilege to create functions in Python.
    pub fn create_python(&self) -> Result<(), EngineError> {
        match self.effective_privileges.on_store().has(Privilege::CreatePython) {
            true => Ok(()),
            false => Err(EngineError::Denied {
                message: format!("you may not create a function in Python: it needs the privilege {}", Privilege::CreatePython),
                hint: format!("an admin can run: GRANT {} TO {}", Privilege::CreatePython, quoted(self.user())),
            }),
        }
    }

    pub fn has_files(&self) -> bool {
        self.effective_privileges.on_store().has(Privilege::Files)
    }

    pub fn admin(&self, what: &str) -> Result<(), EngineError> {
        match self.is_admin() {
            true => Ok(()),
            false => Err(EngineError::Denied {
                message: format!("you may not {what}: only admins may"),
                hint: format!("ask an admin to do it, or to run: ALTER USER {} ADMIN", quoted(self.user())),
            }),
        }
    }

    /// `object` returns the object for messages, and its name in GRANT.
    fn require(&self, has: Privileges, privilege: Privilege, object: impl FnOnce() -> (String, String)) -> Result<(), EngineError> {
        if has.has(privilege) {
            return Ok(());
        }
        let (object, named) = object();
        Err(EngineError::Denied {
            message: format!("you may not do this: it needs the privilege {privilege} on {object}"),
            hint: format!("its owner or an admin can run: GRANT {privilege} ON {named} TO {}", quoted(self.user())),
        })
    }
}

/// If that cannot be determined, the view counts as existing, and so not as created by the transaction.
fn has_view(snapshot: &Snapshot, namespace: &str, name: &str) -> bool {
    !matches!(snapshot.view(namespace, name), Ok(None))
}

impl Visibility for Authorization {
    fn has_namespace(&self, name: &str) -> bool {
        // Every store has the default schema. What is visible in it is checked separately.
        name == DEFAULT_NAMESPACE || !self.on_schema(name).is_none()
    }

    fn has_table(&self, table: &TableRecord) -> bool {
        !self.on_table(table.id, &table.namespace).is_none()
    }

    fn has_view(&self, view: &ViewRecord) -> bool {
        !self.on_view(&view.namespace, &view.name).is_none()
    }

    fn has_object(&self, object: ObjectOwner<'_>) -> bool {
        !self.on_object(object).is_none()
    }
}

/// The snapshot, restricted to what the user may see.
pub fn visible_snapshot(snapshot: Arc<Snapshot>, authorization: Option<&Arc<Authorization>>) -> Arc<Snapshot> {
    match authorization {
        Some(authorization) if !authorization.is_admin() => Arc::new(snapshot.seen_with(Arc::<Authorization>::clone(authorization))),
        _ => snapshot,
    }
}
