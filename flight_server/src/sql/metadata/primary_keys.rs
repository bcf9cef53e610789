//! `CommandGetPrimaryKeys`: the primary keys of stored tables, as they are declared.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::CommandGetPrimaryKeys;
use engine::{EngineError, Session};

use super::build_batch;
use super::definition::primary_key;
use super::pattern::{fitting, is_in_catalog};
use super::query::{literal, texts};
use crate::sessions::CATALOG;

pub fn schema() -> SchemaRef {
    let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    Arc::new(Schema::new(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        text("key_name", true),
        Field::new("key_sequence", DataType::Int32, false),
    ]))
}

/// Sorted by schema, table and position in the key, which counts from 1. Names are not patterns here.
pub async fn batch(session: &Session, command: &CommandGetPrimaryKeys) -> Result<RecordBatch, EngineError> {
    if !is_in_catalog(command.catalog.as_deref()) {
        return Ok(RecordBatch::new_empty(schema()));
    }
    let definitions = texts(
        session,
        &format!(
            "SELECT schema_name, table_name, definition FROM system.tables WHERE kind = 'table' AND lower(table_name) = {} ORDER BY 1, 2",
            literal(&command.table.to_lowercase()),
        ),
    )
    .await?;
    let definitions = fitting(definitions, |[schema, table, _]: &[String; 3], case| {
        case.is_same(&command.table, table) && command.db_schema.as_deref().is_none_or(|name| case.is_same(name, schema))
    });
    let (mut schemas, mut tables, mut columns, mut names, mut places) = (vec![], vec![], vec![], vec![], vec![]);
    for [namespace, table, definition] in definitions {
        let Some(key) = primary_key(&definition) else { continue };
        for (column, place) in key.columns.into_iter().zip(1..) {
            schemas.push(namespace.clone());
            tables.push(table.clone());
            columns.push(column);
            names.push(key.name.clone());
            places.push(place);
        }
    }
    let text = |values: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let catalogs: ArrayRef = Arc::new(StringArray::from(vec![CATALOG; places.len()]));
    let places: ArrayRef = Arc::new(Int32Array::from(places));
    build_batch(schema(), vec![catalogs, text(schemas), text(tables), text(columns), text(names), places])
}
