//! These conditions must hold in a state before it is changed.

use std::sync::Arc;

use crate::catalog::TableId;
use crate::error::{Result, StoreError};
use crate::names::said_name;
use crate::state::{CatalogState, TableState};

pub fn require(state: &CatalogState, table: TableId) -> Result<Arc<TableState>> {
    // The table was dropped, or dropped and created again, since the rows were read.
    state.table_by_id(table).cloned().ok_or(StoreError::TableGone)
}

pub fn require_same_columns(state: &CatalogState, table: TableId, schema_version: u32) -> Result<Arc<TableState>> {
    let entry = require(state, table)?;
    if entry.record.schema_version != schema_version {
        return Err(StoreError::Conflict { table: entry.record.name.clone() });
    }
    Ok(entry)
}

/// An error for a table that was set read-only.
pub fn require_changeable(entry: &TableState) -> Result<()> {
    match entry.record.is_read_only() {
        true => Err(StoreError::ReadOnlyTable { table: said_name(&entry.record.namespace, &entry.record.name) }),
        false => Ok(()),
    }
}

pub fn require_namespace(state: &CatalogState, name: &str) -> Result<()> {
    if state.namespaces.contains(name) {
        return Ok(());
    }
    Err(StoreError::DoesNotExist { kind: "schema", name: name.to_string() })
}

/// Checks a name for a table, view or external table. An empty name could not be written in any statement.
pub fn require_free_name(state: &CatalogState, namespace: &str, name: &str) -> Result<()> {
    require_some_name("table or view", name)?;
    let kind = if state.table(namespace, name).is_some() {
        "table"
    } else if state.views.contains_key(&(namespace.to_string(), name.to_string())) {
        "view"
    } else {
        return Ok(());
    };
    Err(StoreError::is_taken(kind, namespace, name))
}

pub fn require_some_name(kind: &'static str, name: &str) -> Result<()> {
    if name.is_empty() { Err(StoreError::NoName { kind }) } else { Ok(()) }
}
