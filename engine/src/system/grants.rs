//! `system.grants`: the privileges of users and roles on objects.

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::objects::{ObjectCatalog, ObjectRecord};
use pmem_store::{Access, GrantObject, Snapshot, StoreError};

use super::build::{OPTIONAL, REQUIRED, batch, texts};
use super::source::Source;
use common::error::store_error;
use common::privilege::Privilege;
use table::access::Authorization;

pub struct GrantRow {
    pub grantee: String,
    privilege: String,
    on: &'static str,
    schema: Option<String>,
    name: Option<String>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let rows = match source {
        Some(source) => grant_rows(&source.engine.store.access(), source.snapshot, source.authorization).map_err(store_error)?,
        None => Vec::new(),
    };
    grants_batch(&rows)
}

/// One row for each privilege. Admins see all, other users see their own and those on objects that they own.
pub fn grant_rows(access: &Access, snapshot: &Snapshot, authorization: Option<&Authorization>) -> Result<Vec<GrantRow>, StoreError> {
    let (mut rows, objects) = (Vec::new(), ObjectCatalog::of(snapshot)?);
    for (grantee, object, privileges) in access.grants() {
        let record = match object {
            GrantObject::Group(id) | GrantObject::Blob(id) | GrantObject::Function(id) => objects.get(*id)?,
            _ => None,
        };
        // Objects that the statement does not see are omitted.
        let (schema, name) = match object {
            GrantObject::Store => (None, None),
            GrantObject::Schema(schema) if !snapshot.has_namespace(schema) => continue,
            GrantObject::Schema(schema) => (Some(schema.clone()), None),
            GrantObject::View(schema, name) if snapshot.view(schema, name)?.is_none() => continue,
            GrantObject::View(schema, name) => (Some(schema.clone()), Some(name.clone())),
            GrantObject::Group(_) | GrantObject::Blob(_) | GrantObject::Function(_) => match &record {
                Some(object) => (Some(object.namespace.clone()), Some(object.name.clone())),
                None => continue,
            },
            GrantObject::Table(id) => match snapshot.table_by_id(*id)? {
                Some(table) => (Some(table.record().namespace.clone()), Some(table.record().name.clone())),
                None => continue,
            },
        };
        if authorization.is_some_and(|authorization| {
            let is_owner = owns(authorization, object, schema.as_deref(), record.as_ref());
            !authorization.is_admin() && !authorization.has_name(grantee) && !is_owner
        }) {
            continue;
        }
        let on = match object {
            GrantObject::Store => "database",
            GrantObject::Schema(_) => "schema",
            GrantObject::Table(_) => "table",
            GrantObject::View(..) => "view",
            GrantObject::Group(_) => "group",
            GrantObject::Blob(_) => "blob",
            GrantObject::Function(_) => "function",
        };
        rows.extend(privileges.iter().map(|privilege| GrantRow {
            grantee: grantee.to_string(),
            privilege: privilege.clone(),
            on,
            schema: schema.clone(),
            name: name.clone(),
        }));
    }
    Ok(rows)
}

fn owns(authorization: &Authorization, object: &GrantObject, schema: Option<&str>, record: Option<&ObjectRecord>) -> bool {
    let has = match (object, schema) {
        (GrantObject::Group(_) | GrantObject::Blob(_) | GrantObject::Function(_), _) => match record {
            Some(record) => authorization.on_object(record.ownership()),
            None => return false,
        },
        (GrantObject::Table(id), Some(schema)) => authorization.on_table(*id, schema),
        (GrantObject::View(schema, name), _) => authorization.on_view(schema, name),
        (GrantObject::Schema(name), _) => authorization.on_schema(name),
        _ => return false,
    };
    has.has(Privilege::Ownership)
}

pub fn grants_batch(rows: &[GrantRow]) -> Result<RecordBatch> {
    batch(vec![
        ("grantee", texts(rows.iter().map(|row| Some(&row.grantee))), REQUIRED),
        ("privilege", texts(rows.iter().map(|row| Some(&row.privilege))), REQUIRED),
        ("object_kind", texts(rows.iter().map(|row| Some(row.on))), REQUIRED),
        ("schema_name", texts(rows.iter().map(|row| row.schema.as_ref())), OPTIONAL),
        ("object_name", texts(rows.iter().map(|row| row.name.as_ref())), OPTIONAL),
    ])
}
