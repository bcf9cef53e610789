//! The objects and privileges that GRANT and REVOKE name.

use std::collections::BTreeSet;

use datafusion::common::TableReference;
use pmem_store::objects::{ObjectCatalog, ObjectKind};
use pmem_store::{GrantObject, StoreError};

use super::current_access::CurrentAccess;
use common::error::EngineError;
use common::names::SYSTEM;
use common::privilege::Privilege;
use common::type_names::qualified;
use sql::access::statement::{GrantTarget, GrantedPrivileges};
use sql::objects::ObjectName;
use table::catalog::resolve;

/// The object, as the statement's user sees it. The user must own it.
pub fn owned_object(now: &CurrentAccess, on: &GrantTarget) -> Result<GrantObject, EngineError> {
    match on {
        GrantTarget::Store => {
            now.check(|authorization| authorization.admin("grant on the store"))?;
            Ok(GrantObject::Store)
        }
        GrantTarget::Schema(name) => {
            if name == SYSTEM || !now.snapshot().has_namespace(name) {
                return Err(StoreError::DoesNotExist { kind: "schema", name: name.clone() }.into());
            }
            now.check(|authorization| authorization.schema(Privilege::Ownership, name))?;
            Ok(GrantObject::Schema(name.clone()))
        }
        GrantTarget::Table(name) => table_or_view(now, name),
        GrantTarget::Object(object) => named_object(now, object),
    }
}

fn table_or_view(now: &CurrentAccess, name: &TableReference) -> Result<GrantObject, EngineError> {
    let (namespace, name) = resolve(name)?;
    if let Some(table) = now.snapshot().table(&namespace, &name)? {
        now.check(|authorization| authorization.table(Privilege::Ownership, table.record()))?;
        return Ok(GrantObject::Table(table.record().id));
    }
    if let Some(view) = now.snapshot().view(&namespace, &name)? {
        now.check(|authorization| authorization.view(Privilege::Ownership, &view))?;
        return Ok(GrantObject::View(namespace, name));
    }
    Err(StoreError::no_table(&namespace, &name).into())
}

fn named_object(now: &CurrentAccess, object: &ObjectName) -> Result<GrantObject, EngineError> {
    let (namespace, name) = resolve(&object.name)?;
    let found = ObjectCatalog::of(now.snapshot())?.named(object.kind, &namespace, &name)?;
    if found.kind.is_in_catalog() {
        return table_or_view(now, &object.name);
    }
    let full_name = qualified(&namespace, &name);
    now.check(|authorization| authorization.owned_object(found.kind.word(), &full_name, found.ownership()))?;
    Ok(match found.kind {
        ObjectKind::Group => GrantObject::Group(found.id),
        ObjectKind::Function => GrantObject::Function(found.id),
        _ => GrantObject::Blob(found.id),
    })
}

/// The privileges in the store's words; they must apply to the object.
pub fn words_of(privileges: &GrantedPrivileges, object: &GrantObject) -> Result<BTreeSet<String>, EngineError> {
    let possible = Privilege::on(object);
    let is_in_all = |privilege: &Privilege| !matches!(privilege, Privilege::Ownership | Privilege::Files | Privilege::CreatePython);
    let all = || possible.iter().copied().filter(is_in_all).collect();
    let privileges: Vec<Privilege> = match privileges {
        GrantedPrivileges::All => all(),
        GrantedPrivileges::These(privileges) => privileges.clone(),
    };
    if let Some(other) = privileges.iter().find(|privilege| !possible.contains(privilege)) {
        let what = match object {
            GrantObject::Store => "the store",
            GrantObject::Schema(_) => "a schema",
            GrantObject::Table(_) => "a table",
            GrantObject::View(..) => "a view or external table",
            GrantObject::Group(_) => "a group",
            GrantObject::Blob(_) => "a blob",
            GrantObject::Function(_) => "a function",
        };
        let names: Vec<&str> = possible.iter().map(|privilege| privilege.word()).collect();
        return Err(EngineError::unsupported(format!("{other} on {what}"), Some(&format!("there are {}", names.join(", ")))));
    }
    Ok(privileges.iter().map(|privilege| privilege.word().to_string()).collect())
}
