//! `system.tables`: tables and views, and the session's temporary tables.

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::{TableRecord, TableSnapshot, ViewRecord};

use super::build::{OPTIONAL, REQUIRED, batch, numbers, texts};
use super::source::Source;
use super::view_redaction::mentions_hidden_name;
use common::error::store_error;
use common::names::TEMP;
use common::type_names::qualified;
use table::definition::{VIEW, key_text, table_definition};
use table::temporary::{TemporaryRows, VOLATILE};

#[derive(Default)]
struct Row {
    schema: String,
    name: String,
    kind: String,
    table_id: Option<u64>,
    rows: Option<u64>,
    deleted_rows: Option<u64>,
    segments: Option<u64>,
    size_bytes: Option<u64>,
    cluster_key: Option<String>,
    created_version: Option<u64>,
    changed_version: Option<u64>,
    definition: Option<String>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if let Some(source) = source {
        rows.extend(source.tables()?.iter().map(|table| of_table(table, source.reads(table))));
        rows.extend(source.damaged()?.into_iter().map(of_damaged));
        let unseen = source.snapshot.unseen_names();
        rows.extend(source.snapshot.views().map_err(store_error)?.into_iter().map(|view| {
            let shows_definition = source.owns(&view) || !mentions_hidden_name(&view.sql, &unseen);
            of_view(view, shows_definition)
        }));
        rows.extend(source.temporary.all().iter().map(|table| of_temporary(table)));
        rows.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
    }
    batch(vec![
        ("schema_name", texts(rows.iter().map(|row| Some(&row.schema))), REQUIRED),
        ("table_name", texts(rows.iter().map(|row| Some(&row.name))), REQUIRED),
        ("kind", texts(rows.iter().map(|row| Some(&row.kind))), REQUIRED),
        ("table_id", numbers(rows.iter().map(|row| row.table_id)), OPTIONAL),
        ("row_count", numbers(rows.iter().map(|row| row.rows)), OPTIONAL),
        ("deleted_rows", numbers(rows.iter().map(|row| row.deleted_rows)), OPTIONAL),
        ("segment_count", numbers(rows.iter().map(|row| row.segments)), OPTIONAL),
        ("size_bytes", numbers(rows.iter().map(|row| row.size_bytes)), OPTIONAL),
        ("cluster_key", texts(rows.iter().map(|row| row.cluster_key.as_ref())), OPTIONAL),
        ("created_version", numbers(rows.iter().map(|row| row.created_version)), OPTIONAL),
        ("changed_version", numbers(rows.iter().map(|row| row.changed_version)), OPTIONAL),
        ("definition", texts(rows.iter().map(|row| row.definition.as_ref())), OPTIONAL),
    ])
}

/// Users without SELECT do not see the number of rows.
fn of_table(table: &TableSnapshot, is_read: bool) -> Row {
    let record = table.record();
    let sealed = table.segments().iter().filter_map(|segment| segment.deletions());
    let deleted = sealed.chain(table.tails().iter().filter_map(|tail| tail.deletions())).map(|deletions| deletions.len());
    Row {
        schema: record.namespace.clone(),
        name: record.name.clone(),
        kind: record.kind().word().to_string(),
        table_id: Some(record.id),
        // An array has cells.
        rows: (is_read && !record.is_array()).then(|| table.row_count()),
        deleted_rows: is_read.then(|| deleted.sum()),
        segments: is_read.then(|| table.segments().len() as u64),
        size_bytes: is_read.then(|| table.size_bytes()),
        cluster_key: (!record.cluster_key.is_empty()).then(|| key_text(&record.cluster_key)),
        created_version: Some(record.created_version),
        changed_version: Some(record.changed_version),
        definition: Some(table_definition(table)),
    }
}

/// The number of rows is unknown until the loss is accepted.
fn of_damaged(record: TableRecord) -> Row {
    let (table_id, created_version, changed_version) = (Some(record.id), Some(record.created_version), Some(record.changed_version));
    Row {
        kind: record.kind().word().to_string(),
        schema: record.namespace,
        name: record.name,
        table_id,
        created_version,
        changed_version,
        ..Row::default()
    }
}

/// They belong to no version of the store, and have no id there.
fn of_temporary(table: &TemporaryRows) -> Row {
    Row {
        schema: TEMP.to_string(),
        name: table.name.clone(),
        kind: VOLATILE.to_string(),
        rows: Some(table.row_count() as u64),
        size_bytes: Some(table.size_bytes() as u64),
        definition: Some(table.definition()),
        ..Row::default()
    }
}

/// The text of a view is shown only to users who may see every table in it.
fn of_view(view: ViewRecord, shows_definition: bool) -> Row {
    let definition = shows_definition.then(|| match view.kind.as_str() {
        VIEW => format!("CREATE VIEW {} AS {}", qualified(&view.namespace, &view.name), view.sql),
        _ => view.sql,
    });
    let created_version = Some(view.created_version);
    Row { schema: view.namespace, name: view.name, kind: view.kind, created_version, definition, ..Row::default() }
}
