//! What the catalog knows of a table's columns besides their type. It lies in the metadata of the
//! declared schema's fields, under keys that only this file knows.
//!
//! Invariant: a column's id is never reused, but its name may be. So a
//! segment that was written before a column was renamed, dropped or added is read correctly afterwards.

use arrow::datatypes::{Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

const ID: &str = "quiver:id";
const DEFAULT: &str = "quiver:default";
const INITIAL: &str = "quiver:initial";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnInfo {
    pub id: u32,
    /// The expression of its DEFAULT, as SQL.
    pub default_sql: Option<String>,
    /// The value, as text, of rows that were written before the column was added; NULL if absent.
    pub initial: Option<String>,
}

/// The schema in its stored form.
pub(crate) fn with_columns(schema: &Schema, columns: &[ColumnInfo]) -> Schema {
    let fields = schema.fields().iter().zip(columns).map(|(field, column)| {
        let mut metadata = field.metadata().clone();
        metadata.insert(ID.into(), column.id.to_string());
        let texts = [(DEFAULT, &column.default_sql), (INITIAL, &column.initial)];
        metadata.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_string(), text.clone()?))));
        field.as_ref().clone().with_metadata(metadata)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// The declared schema and its columns, from the stored form. Stores from before ids have none: there a
/// column's id is its position.
pub(crate) fn split_columns(stored: &Schema) -> (SchemaRef, Vec<ColumnInfo>) {
    let mut columns = Vec::with_capacity(stored.fields().len());
    let fields = stored.fields().iter().enumerate().map(|(position, field)| -> Field {
        let mut metadata: HashMap<String, String> = field.metadata().clone();
        columns.push(ColumnInfo {
            id: metadata.remove(ID).and_then(|id| id.parse().ok()).unwrap_or(position as u32),
            default_sql: metadata.remove(DEFAULT),
            initial: metadata.remove(INITIAL),
        });
        field.as_ref().clone().with_metadata(metadata)
    });
    let fields: Vec<Field> = fields.collect();
    (Arc::new(Schema::new_with_metadata(fields, stored.metadata().clone())), columns)
}
