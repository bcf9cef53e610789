//! Writes a commit to the catalog: the difference between two states.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{CatalogWriter, Garbage, GarbageKind, NamespaceRecord, TableId};
use crate::deletions::Deletions;
use crate::error::Result;
use crate::state::{CatalogState, TableData, TableState, with_columns};

#[derive(Debug, Default)]
pub struct Persisted {
    /// Tables that were made or changed.
    pub changed: Vec<TableId>,
    /// Segments whose files no version needs any more.
    pub unnamed: Vec<(TableId, u64)>,
    /// The same for logs.
    pub unnamed_logs: Vec<(TableId, u64)>,
}

pub fn persist(writer: &mut CatalogWriter, old: &CatalogState, new: &CatalogState, version: u64) -> Result<Persisted> {
    // An unchanged part is the same object, and nothing of it is read.
    if !Arc::ptr_eq(&old.namespaces, &new.namespaces) {
        namespaces(writer, old, new, version)?;
    }
    if !Arc::ptr_eq(&old.views, &new.views) {
        views(writer, old, new)?;
    }
    if !Arc::ptr_eq(&old.snapshots, &new.snapshots) {
        snapshots(writer, old, new)?;
    }
    tables(writer, old, new, version)
}

fn namespaces(writer: &CatalogWriter, old: &CatalogState, new: &CatalogState, version: u64) -> Result<()> {
    for name in new.namespaces.difference(&old.namespaces) {
        writer.put_namespace(name, &NamespaceRecord { created_version: version })?;
    }
    for name in old.namespaces.difference(&new.namespaces) {
        writer.remove_namespace(name)?;
    }
    Ok(())
}

fn snapshots(writer: &CatalogWriter, old: &CatalogState, new: &CatalogState) -> Result<()> {
    // After a drop and a create in one transaction, the snapshot of the same name is a new one.
    for (_, snapshot) in new.snapshots.iter().filter(|(name, snapshot)| old.snapshots.get(*name) != Some(*snapshot)) {
        writer.put_snapshot(snapshot)?;
    }
    for name in old.snapshots.keys().filter(|name| !new.snapshots.contains_key(*name)) {
        writer.remove_snapshot(name)?;
    }
    Ok(())
}

fn views(writer: &CatalogWriter, old: &CatalogState, new: &CatalogState) -> Result<()> {
    for (namespace, name) in old.views.keys().filter(|name| !new.views.contains_key(*name)) {
        writer.remove_view(namespace, name)?;
    }
    for (name, view) in new.views.iter() {
        if old.views.get(name) != Some(view) {
            writer.put_view(view)?;
        }
    }
    Ok(())
}

fn tables(writer: &mut CatalogWriter, old: &CatalogState, new: &CatalogState, version: u64) -> Result<Persisted> {
    let mut persisted = Persisted::default();
    // The tables that were dropped or changed.
    let changed: Vec<&Arc<TableState>> = old.tables.changed_since(&new.tables).collect();
    let is_named = |table: &TableState| new.table(&table.record.namespace, &table.record.name).is_some();
    for table in changed.iter().filter(|table| !is_named(table)) {
        writer.remove_table_name(&table.record.namespace, &table.record.name)?;
    }
    for table in changed.iter().filter(|table| new.table_by_id(table.record.id).is_none()) {
        let id = table.record.id;
        persisted.unnamed_logs.extend(table.data()?.logs.keys().map(|log| (id, *log)));
        let segments = writer.remove_table_data(id)?;
        persisted.unnamed.extend(segments.into_iter().map(|segment| (id, segment)));
    }
    for table in new.tables.changed_since(&old.tables) {
        let id = table.record.id;
        let old_entry = old.table_by_id(id);
        write_record(writer, old_entry.map(Arc::as_ref), table, version)?;
        let (old, new) = (old_entry.map(|entry| entry.data()).transpose()?, table.data()?);
        let old = old.unwrap_or_else(|| Arc::new(TableData::empty(&new.schema)));
        write_segments(writer, id, &old, &new, version)?;
        persisted.unnamed_logs.extend(write_logs(writer, id, &old, &new)?);
        write_deletions(writer, id, &old, &new, version)?;
        persisted.changed.push(id);
    }
    Ok(persisted)
}

fn write_record(writer: &mut CatalogWriter, before: Option<&TableState>, table: &TableState, version: u64) -> Result<()> {
    let record = &table.record;
    writer.put_table(record)?;
    if before.is_none_or(|before| before.record.schema_version != record.schema_version) {
        let data = table.data()?;
        writer.put_schema(record.id, record.schema_version, &with_columns(&data.schema, &data.columns))?;
    }
    if let Some(data) = table.loaded() {
        let made_now = data.earlier_schemas.iter().filter(|(_, (at_version, _))| *at_version == version);
        for (schema_version, (_, schema)) in made_now {
            writer.put_schema(record.id, *schema_version, schema)?;
        }
    }
    // A change of rows alone does not change the definition of the table.
    let mut same = record.clone();
    same.changed_version = before.map_or(0, |before| before.record.changed_version);
    let last = writer.history_version(record.id)?;
    if before.is_some_and(|before| before.record == same) && last.is_some() {
        return Ok(());
    }
    if let Some(from) = last {
        writer.add_garbage(version, &Garbage { table: record.id, from, what: GarbageKind::Record })?;
    } else if let Some(before) = before {
        // The table comes from an older store: this records what it was until now.
        writer.put_history(&before.record, before.record.created_version)?;
    }
    writer.put_history(record, version)
}

fn write_segments(writer: &mut CatalogWriter, table: TableId, old: &TableData, new: &TableData, version: u64) -> Result<()> {
    for (id, segment) in old.segments.iter().filter(|(id, _)| !new.segments.contains_key(id)) {
        let mut record = segment.record().clone();
        record.removed_version = Some(version);
        writer.put_segment(table, &record)?;
        let garbage = Garbage { table, from: record.added_version, what: GarbageKind::Segment(*id) };
        writer.add_garbage(version, &garbage)?;
    }
    for (id, segment) in &new.segments {
        if old.segments.get(id).is_none_or(|before| before.record != segment.record) {
            writer.put_segment(table, segment.record())?;
        }
    }
    Ok(())
}

/// Returns the logs that were removed.
fn write_logs(writer: &CatalogWriter, table: TableId, old: &TableData, new: &TableData) -> Result<Vec<(TableId, u64)>> {
    for (id, log) in &new.logs {
        if old.logs.get(id).is_none_or(|before| before.record != log.record) {
            writer.put_log(table, &log.record)?;
        }
    }
    let removed: Vec<u64> = old.logs.keys().filter(|id| !new.logs.contains_key(id)).copied().collect();
    for id in &removed {
        writer.remove_log(table, *id)?;
    }
    Ok(removed.into_iter().map(|id| (table, id)).collect())
}

fn write_deletions(writer: &mut CatalogWriter, table: TableId, old: &TableData, new: &TableData, version: u64) -> Result<()> {
    let before = deletions(old);
    for (id, rows) in deletions(new) {
        if before.get(&id).is_some_and(|old_rows| Arc::ptr_eq(old_rows, rows)) {
            continue;
        }
        if let Some(from) = writer.deletions_version(table, id)? {
            writer.add_garbage(version, &Garbage { table, from, what: GarbageKind::Deletions(id) })?;
        }
        writer.put_deletions(table, id, version, rows)?;
    }
    Ok(())
}

/// By the id of a segment or log: a log that becomes a segment keeps its deleted rows.
fn deletions(data: &TableData) -> BTreeMap<u64, &Arc<Deletions>> {
    let segments = data.segments.iter().filter_map(|(id, segment)| Some((*id, segment.deletions.as_ref()?)));
    let logs = data.logs.iter().filter_map(|(id, log)| Some((*id, log.deletions.as_ref()?)));
    segments.chain(logs).collect()
}
