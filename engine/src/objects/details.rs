//! Owner, size and time of the last change of tables and views: the catalog has them in other places than for groups and blobs.

use std::collections::HashMap;

use pmem_store::objects::{ObjectId, ObjectKind, ObjectRecord};
use pmem_store::{GrantObject, OWNERSHIP, Snapshot, StoreError};

use crate::shared::EngineShared;

/// Completes the records of tables and views.
pub fn describe(engine: &EngineShared, snapshot: &Snapshot, objects: &mut [ObjectRecord]) -> Result<(), StoreError> {
    if !objects.iter().any(|object| object.kind.is_in_catalog()) {
        return Ok(());
    }
    let access = engine.store.access();
    let owned = access.grants().filter(|(_, _, privileges)| privileges.contains(OWNERSHIP));
    let owners: HashMap<&GrantObject, &str> = owned.map(|(owner, object, _)| (object, owner)).collect();
    let committed: HashMap<u64, u64> =
        engine.store.versions()?.into_iter().map(|version| (version.version, version.committed_at_ms)).collect();
    for object in objects {
        let (grants_on, changed_version) = match object.kind {
            ObjectKind::Table | ObjectKind::Array => {
                object.size_bytes = size_bytes(snapshot, object.id)?;
                (GrantObject::Table(object.id), snapshot.changed_version(object.id))
            }
            ObjectKind::View => {
                let view = snapshot.view(&object.namespace, &object.name)?;
                let created_version = view.map(|view| view.created_version);
                (GrantObject::View(object.namespace.clone(), object.name.clone()), created_version)
            }
            ObjectKind::Group | ObjectKind::Blob => continue,
        };
        object.owner = owners.get(&grants_on).map(ToString::to_string);
        let changed_at_ms = changed_version.and_then(|version| committed.get(&version)).copied().unwrap_or(0);
        object.changed_at_ms = object.changed_at_ms.max(changed_at_ms);
    }
    Ok(())
}

/// A table with a damaged log counts as empty: a query of it gets the error.
fn size_bytes(snapshot: &Snapshot, table: ObjectId) -> Result<u64, StoreError> {
    match snapshot.glance(table) {
        Ok(table) => Ok(table.map_or(0, |table| table.size_bytes())),
        Err(StoreError::LogDamaged { .. }) => Ok(0),
        Err(error) => Err(error),
    }
}
