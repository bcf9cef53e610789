//! ALTER TABLE on one state: it changes the definition of a table, and maps the columns of its old rows.

use std::sync::Arc;

use super::TableAlteration;
use super::preconditions::{require_changeable, require_free_name, require_same_columns};
use crate::catalog::{ColumnOrder, TableId};
use crate::error::Result;
use crate::state::{CatalogState, TableData, column_places, with_columns};

pub fn alter_table(
    state: &mut CatalogState,
    table: TableId,
    base_schema_version: u32,
    alteration: &TableAlteration,
    version: u64,
) -> Result<()> {
    let entry = require_same_columns(state, table, base_schema_version)?;
    if alteration.options.is_none() || alteration.name.is_some() || alteration.redefines() {
        require_changeable(&entry)?;
    }
    let mut record = entry.record.clone();
    let mut data = entry.data()?.as_ref().clone();
    if let Some(name) = alteration.name.as_ref().filter(|name| **name != record.name) {
        require_free_name(state, &record.namespace, name)?;
        record.name = name.clone();
    }
    let old_key = key_columns(&record.cluster_key, &data);
    // Rows that are being written by the old definition must not be added after this.
    if alteration.redefines() {
        data.earlier_schemas.retain(|_, (at_version, _)| *at_version == version);
        let before = Arc::new(with_columns(&data.schema, &data.columns));
        data.earlier_schemas.insert(record.schema_version, (version, before));
        record.schema_version += 1;
        // All of them were deleted when they became a segment.
        data.pending.clear();
    }
    if let Some((schema, columns)) = &alteration.schema {
        let before: Vec<u32> = data.columns.iter().map(|column| column.id).collect();
        data.columns = columns.clone();
        // Tables of the first format have columns with ids that were not counted.
        record.next_column = before.iter().map(|id| id + 1).fold(record.next_column, u32::max);
        for column in data.columns.iter_mut().filter(|column| column.id == u32::MAX) {
            column.id = record.next_column;
            record.next_column += 1;
        }
        data.schema = Arc::clone(schema);
        place_columns_again(&mut data, &before);
    }
    if let Some(key) = &alteration.cluster_key {
        record.cluster_key = key.clone();
        // Rows ordered by (a, b) are ordered by (a); for any other key they are not.
        if key.is_empty() || !old_key.starts_with(&key_columns(key, &data)) {
            for segment in data.segments.values_mut() {
                Arc::make_mut(&mut segment.record).sorted = false;
            }
        }
    }
    if let Some(constraints) = &alteration.constraints {
        record.constraints = constraints.clone();
    }
    if let Some(options) = &alteration.options {
        record.options = options.clone();
    }
    state.change_table(record, data, version);
    Ok(())
}

/// A cluster key with the ids of its columns, which do not change with their names.
fn key_columns(key: &[ColumnOrder], data: &TableData) -> Vec<(Option<u32>, bool, bool)> {
    let id = |name: &str| data.schema.index_of(name).ok().and_then(|at| data.columns.get(at)).map(|column| column.id);
    key.iter().map(|order| (id(&order.column), order.descending, order.nulls_first)).collect()
}

/// The indices of the new columns in old segments, from the indices of the columns `before`.
fn place_columns_again(data: &mut TableData, before: &[u32]) {
    let TableData { segments, logs, columns, .. } = data;
    let segments = segments.values_mut().map(|segment| &mut segment.columns);
    for places in segments.chain(logs.values_mut().map(|log| &mut log.columns)) {
        // An unused index gets an id that no column has.
        let written = match &places {
            None => before.to_vec(),
            Some(places) => {
                let width = places.iter().flatten().max().map_or(0, |last| last + 1);
                let mut written = vec![u32::MAX; width];
                for (id, place) in before.iter().zip(places.iter()) {
                    if let Some(place) = place {
                        written[*place] = *id;
                    }
                }
                // The additional id makes it differ from the table's columns, whatever those are.
                written.push(u32::MAX);
                written
            }
        };
        *places = column_places(columns, &written);
    }
}
