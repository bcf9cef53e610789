//! What GRANT and REVOKE name.

use std::collections::BTreeSet;

use datafusion::common::TableReference;
use pmem_store::{GrantObject, StoreError};

use super::now::Now;
use crate::catalog::resolve;
use common::error::EngineError;
use common::names::SYSTEM;
use common::privilege::Privilege;
use sql::access::statement::{On, Wanted};

/// The object, as the statement's user sees it, who must own it.
pub fn owned_object(now: &Now, on: &On) -> Result<GrantObject, EngineError> {
    match on {
        On::Store => {
            now.check(|permit| permit.admin("grant on the store"))?;
            Ok(GrantObject::Store)
        }
        On::Schema(name) => {
            if name == SYSTEM || !now.snapshot().has_namespace(name) {
                return Err(StoreError::DoesNotExist { kind: "schema", name: name.clone() }.into());
            }
            now.check(|permit| permit.schema(Privilege::Ownership, name))?;
            Ok(GrantObject::Schema(name.clone()))
        }
        On::Table(name) => table_or_view(now, name),
    }
}

fn table_or_view(now: &Now, name: &TableReference) -> Result<GrantObject, EngineError> {
    let (namespace, name) = resolve(name)?;
    if let Some(table) = now.snapshot().table(&namespace, &name)? {
        now.check(|permit| permit.table(Privilege::Ownership, table.record()))?;
        return Ok(GrantObject::Table(table.record().id));
    }
    if let Some(view) = now.snapshot().view(&namespace, &name)? {
        now.check(|permit| permit.view(Privilege::Ownership, &view))?;
        return Ok(GrantObject::View(namespace, name));
    }
    Err(StoreError::no_table(&namespace, &name).into())
}

/// The privileges, which must make sense on the object, as the store keeps them.
pub fn words_of(wanted: &Wanted, object: &GrantObject) -> Result<BTreeSet<String>, EngineError> {
    let possible = Privilege::on(object);
    let all = || possible.iter().copied().filter(|privilege| !matches!(privilege, Privilege::Ownership | Privilege::Files)).collect();
    let wanted: Vec<Privilege> = match wanted {
        Wanted::All => all(),
        Wanted::These(privileges) => privileges.clone(),
    };
    if let Some(other) = wanted.iter().find(|privilege| !possible.contains(privilege)) {
        let what = match object {
            GrantObject::Store => "the store",
            GrantObject::Schema(_) => "a schema",
            GrantObject::Table(_) => "a table",
            GrantObject::View(..) => "a view or external table",
        };
        let names: Vec<&str> = possible.iter().map(|privilege| privilege.word()).collect();
        return Err(EngineError::unsupported(format!("{other} on {what}"), Some(&format!("there are {}", names.join(", ")))));
    }
    Ok(wanted.iter().map(|privilege| privilege.word().to_string()).collect())
}
