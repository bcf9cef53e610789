//! Applies one change to one state; it checks names and finds conflicts.
//!
//! A change is applied twice: when it is made, to what the transaction sees, and when it is committed,
//! to the last committed state.

use std::sync::Arc;

use arrow::compute::concat_batches;

use super::alter::alter_table;
use super::change::{Change, DeletedRows};
use super::logs;
use super::preconditions::{require, require_changeable, require_free_name, require_namespace, require_same_columns, require_some_name};
use super::restoration::restore;
use super::row_remap;
use crate::catalog::{NamedSnapshot, SegmentRecord, TableId, TableRecord};
use crate::clock::now_ms;
use crate::deletions::Deletions;
use crate::error::{Result, StoreError};
use crate::names::said_name;
use crate::segment::SealedSegment;
use crate::shared::{Replacement, Shared};
use crate::state::{CatalogState, PendingRows, TableData, TableSegment, TableState};

const SCHEMA_VERSION_FIRST: u32 = 1;

/// `version` is the version that the state becomes.
pub fn apply(change: &Change, state: &mut CatalogState, version: u64, shared: &Arc<Shared>) -> Result<()> {
    match change {
        Change::CreateNamespace { name } => create_namespace(state, name),
        Change::DropNamespace { name, cascade } => drop_namespace(state, name, *cascade),
        Change::CreateTable { .. } => create_table(state, change, version),
        Change::DropTable { table, name } => drop_table(state, *table, name),
        Change::AlterTable { table, base_schema_version, alteration } => {
            alter_table(state, *table, *base_schema_version, alteration, version)
        }
        Change::AddSegments { table, segments, sorted, schema_version } => {
            let entry = require_same_columns(state, *table, *schema_version)?;
            require_changeable(&entry)?;
            let mut data = entry.data()?.as_ref().clone();
            insert_segments(&mut data, &entry.record, segments, *sorted, version, shared);
            state.change_table(entry.record.clone(), data, version);
            Ok(())
        }
        Change::AppendRows { table, id, rows, schema_version } => {
            let entry = require_same_columns(state, *table, *schema_version)?;
            require_changeable(&entry)?;
            let mut data = entry.data()?.as_ref().clone();
            push_pending(&mut data.pending, PendingRows { id: *id, rows: rows.clone(), deletions: None })?;
            state.change_table(entry.record.clone(), data, version);
            Ok(())
        }
        Change::CloseLog { table, log } => logs::close(state, *table, *log, version),
        Change::DropLog { table, log } => logs::remove(state, *table, *log, version),
        Change::SealLog { table, sealed } => logs::seal(state, *table, sealed, version, shared),
        Change::DeleteRows { table, deleted } => delete_rows(state, *table, deleted, version, shared),
        Change::ClearTable { table, rows } => {
            let entry = require(state, *table)?;
            require_changeable(&entry)?;
            let mut data = entry.data()?.as_ref().clone();
            let rows = shared.moves.followed(*table, rows);
            if logs::has_more(&data, &rows, version) {
                // Rows that were added since would be lost, although the transaction has not seen them.
                return Err(StoreError::Conflict { table: entry.record.name.clone() });
            }
            data.segments.clear();
            data.pending.clear();
            logs::clear(&mut data, version);
            state.change_table(entry.record.clone(), data, version);
            Ok(())
        }
        Change::ReplaceSegments(replacement) => replace_segments(state, replacement, version, shared),
        Change::RestoreTable(restoration) => restore(state, restoration, version, shared),
        Change::RequireReaderFeatures(_) => Ok(()),
        Change::CreateView { record, replace } => {
            require_namespace(state, &record.namespace)?;
            let name = (record.namespace.clone(), record.name.clone());
            let replaced = if *replace { Arc::make_mut(&mut state.views).remove(&name) } else { None };
            require_free_name(state, &record.namespace, &record.name)?;
            let mut record = record.clone();
            record.id = replaced.map_or(record.id, |view| view.id);
            record.created_version = version;
            record.created_at_ms = Some(now_ms());
            Arc::make_mut(&mut state.views).insert(name, record);
            Ok(())
        }
        Change::DropView { namespace, name } => {
            let removed = Arc::make_mut(&mut state.views).remove(&(namespace.clone(), name.clone()));
            removed.map(|_| ()).ok_or_else(|| StoreError::DoesNotExist { kind: "view", name: said_name(namespace, name) })
        }
        Change::CreateSnapshot { name, version } => {
            require_some_name("snapshot", name)?;
            if state.snapshots.contains_key(name) {
                return Err(StoreError::AlreadyExists { kind: "snapshot", name: name.clone() });
            }
            let snapshot = NamedSnapshot { name: name.clone(), version: *version, created_at_ms: now_ms() };
            Arc::make_mut(&mut state.snapshots).insert(name.clone(), snapshot);
            Ok(())
        }
        Change::DropSnapshot { name } => {
            let removed = Arc::make_mut(&mut state.snapshots).remove(name);
            removed.map(|_| ()).ok_or_else(|| StoreError::DoesNotExist { kind: "snapshot", name: name.clone() })
        }
    }
}

/// Earlier rows are joined to the new ones while they are no more than those, so that a transaction of very
/// many single rows has few batches and copies each row few times. Rows that a deletion refers to by their
/// position stay where they are.
fn push_pending(pending: &mut Vec<PendingRows>, mut new: PendingRows) -> Result<()> {
    while let Some(last) = pending.pop_if(|last| last.deletions.is_none() && last.rows.num_rows() <= new.rows.num_rows()) {
        new.rows = concat_batches(&last.rows.schema(), [&last.rows, &new.rows])?;
    }
    pending.push(new);
    Ok(())
}

fn create_namespace(state: &mut CatalogState, name: &str) -> Result<()> {
    require_some_name("schema", name)?;
    if state.namespaces.contains(name) {
        return Err(StoreError::AlreadyExists { kind: "schema", name: name.to_string() });
    }
    Arc::make_mut(&mut state.namespaces).insert(name.to_string());
    Ok(())
}

fn drop_namespace(state: &mut CatalogState, name: &str, cascade: bool) -> Result<()> {
    require_namespace(state, name)?;
    let tables: Vec<(TableId, String)> = state
        .tables
        .iter()
        .filter(|table| table.record.namespace == name)
        .map(|table| (table.record.id, table.record.name.clone()))
        .collect();
    let has_views = state.views.keys().any(|(namespace, _)| namespace == name);
    if !cascade && (has_views || !tables.is_empty()) {
        return Err(StoreError::NamespaceNotEmpty(name.to_string()));
    }
    for (table, table_name) in tables {
        drop_table(state, table, &table_name)?;
    }
    if has_views {
        Arc::make_mut(&mut state.views).retain(|(namespace, _), _| namespace != name);
    }
    Arc::make_mut(&mut state.namespaces).remove(name);
    Ok(())
}

fn create_table(state: &mut CatalogState, change: &Change, version: u64) -> Result<()> {
    let Change::CreateTable { id, namespace, name, schema, columns, cluster_key, constraints, options, replace } = change else {
        unreachable!("called for this change alone")
    };
    require_namespace(state, namespace)?;
    if let Some(old) = state.table(namespace, name).filter(|_| *replace) {
        let old = old.record.id;
        drop_table(state, old, name)?;
    }
    require_free_name(state, namespace, name)?;
    let record = TableRecord {
        id: *id,
        namespace: namespace.clone(),
        name: name.clone(),
        created_version: version,
        changed_version: version,
        schema_version: SCHEMA_VERSION_FIRST,
        next_column: columns.len() as u32,
        cluster_key: cluster_key.clone(),
        constraints: constraints.clone(),
        options: options.clone(),
        created_at_ms: Some(now_ms()),
    };
    let data = TableData { columns: columns.clone(), ..TableData::empty(schema) };
    state.put_table(TableState::new(record, data));
    Ok(())
}

/// Readers of older versions keep the table's content: it is read before the table is dropped.
fn drop_table(state: &mut CatalogState, table: TableId, name: &str) -> Result<()> {
    let entry = state.table_by_id(table).ok_or_else(|| StoreError::DoesNotExist { kind: "table", name: name.to_string() })?;
    require_changeable(entry)?;
    entry.data()?;
    let snapshot = state.snapshots.values().find(|snapshot| snapshot.version >= entry.record.created_version);
    if let Some(snapshot) = snapshot {
        let (namespace, name) = (entry.record.namespace.clone(), entry.record.name.clone());
        return Err(StoreError::KeptBySnapshot { id: table, namespace, table: name, snapshot: snapshot.name.clone() });
    }
    state.tables.remove(table);
    Ok(())
}

fn insert_segments(
    data: &mut TableData,
    record: &TableRecord,
    segments: &[SealedSegment],
    sorted: bool,
    version: u64,
    shared: &Arc<Shared>,
) {
    for sealed in segments {
        let stored = SegmentRecord {
            sealed: sealed.clone(),
            schema_version: record.schema_version,
            added_version: version,
            sorted,
            removed_version: None,
            grown: Vec::new(),
        };
        let handle = shared.handle(record.id, sealed);
        data.segments.insert(sealed.id, TableSegment { record: Arc::new(stored), handle, deletions: None, columns: None });
    }
}

fn delete_rows(state: &mut CatalogState, table: TableId, deleted: &[DeletedRows], version: u64, shared: &Arc<Shared>) -> Result<()> {
    let entry = require(state, table)?;
    require_changeable(&entry)?;
    let mut data = entry.data()?.as_ref().clone();
    let conflict = || StoreError::Conflict { table: entry.record.name.clone() };
    for one in deleted {
        let Some(deletions) = data.deletions_of_mut(one.segment) else {
            // The segment was compacted since, and its rows moved, or the table was cleared.
            let mut rows = one.rows.clone();
            if let Some(base) = &one.base {
                rows -= base.rows();
            }
            row_remap::delete(&shared.moves, &mut data, table, one.segment, &rows).ok_or_else(conflict)?;
            continue;
        };
        let mut rows = deletions.as_ref().map(|deletions| deletions.rows().clone()).unwrap_or_default();
        let mut by_others = rows.clone();
        if let Some(base) = &one.base {
            by_others -= base.rows();
        }
        if !by_others.is_disjoint(&one.rows) {
            return Err(conflict());
        }
        rows |= &one.rows;
        *deletions = (!rows.is_empty()).then(|| Arc::new(Deletions::new(rows)));
    }
    state.change_table(entry.record.clone(), data, version);
    Ok(())
}

fn replace_segments(state: &mut CatalogState, new: &Replacement, version: u64, shared: &Arc<Shared>) -> Result<()> {
    let entry = require_same_columns(state, new.table, new.schema_version)?;
    let mut data = entry.data()?.as_ref().clone();
    let mut deleted_positions = roaring::RoaringBitmap::new();
    for old in &new.removed {
        let conflict = || StoreError::Conflict { table: entry.record.name.clone() };
        let segment = data.segments.remove(&old.segment).ok_or_else(conflict)?;
        let now = segment.deletions.map(|deletions| deletions.rows().clone()).unwrap_or_default();
        let since = old.deletions.as_ref().map_or(now.clone(), |before| now - before.rows());
        deleted_positions.extend(since.iter().filter_map(|row| old.row_mapping.get(row as usize)).filter(|place| **place != u32::MAX));
    }
    insert_segments(&mut data, &entry.record, &new.added, new.sorted, version, shared);
    let mut first = 0u64;
    for sealed in &new.added {
        let range = first as u32..(first + sealed.row_count) as u32;
        let rows: roaring::RoaringBitmap = deleted_positions.range(range).map(|place| place - first as u32).collect();
        if let Some(segment) = data.segments.get_mut(&sealed.id).filter(|_| !rows.is_empty()) {
            segment.deletions = Some(Arc::new(Deletions::new(rows)));
        }
        first += sealed.row_count;
    }
    state.change_table(entry.record.clone(), data, version);
    Ok(())
}
