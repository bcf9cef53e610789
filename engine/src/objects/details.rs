//! Owner, size and time of the last change of tables and views: the catalog has them in other places than for groups and blobs.

use std::collections::HashMap;

use pmem_store::objects::{ObjectId, ObjectKind, ObjectRecord};
use pmem_store::{GrantObject, OWNERSHIP, Snapshot, StoreError, TableSnapshot};

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
                let table = glance(snapshot, object.id)?;
                object.size_bytes = table.as_ref().map_or(0, TableSnapshot::size_bytes);
                let touches = table.map(|table| table.touches());
                object.bytes_touched = touches.as_ref().map(|touches| touches.bytes());
                object.last_touched_ms = touches.and_then(|touches| touches.last_ms());
                (GrantObject::Table(object.id), snapshot.changed_version(object.id))
            }
            ObjectKind::View => {
                let view = snapshot.view(&object.namespace, &object.name)?;
                let created_version = view.map(|view| view.created_version);
                (GrantObject::View(object.namespace.clone(), object.name.clone()), created_version)
            }
            ObjectKind::Group | ObjectKind::Blob | ObjectKind::Function => continue,
        };
        object.owner = owners.get(&grants_on).map(ToString::to_string);
        let changed_at_ms = changed_version.and_then(|version| committed.get(&version)).copied().unwrap_or(0);
        object.changed_at_ms = object.changed_at_ms.max(changed_at_ms);
    }
    Ok(())
}

/// `None` for a table with a damaged log: a query of it gets the error.
fn glance(snapshot: &Snapshot, table: ObjectId) -> Result<Option<TableSnapshot>, StoreError> {
    match snapshot.glance(table) {
        Err(StoreError::LogDamaged { .. }) => Ok(None),
        table => table,
    }
}
