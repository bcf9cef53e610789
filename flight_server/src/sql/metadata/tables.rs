//! `CommandGetTables`, with the columns of each table if the client wants them.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::sql::CommandGetTables;
use arrow_flight::{IpcMessage, SchemaAsIpc};
use engine::{EngineError, Session};
use flight_wire::{Origin, WireTypes, annotated, wire_schema};

use super::listing::{EXTERNAL_TABLE, Listed, TABLE, VIEW, listed, table_type};
use super::pattern::{Pattern, fitting, is_in_catalog};
use super::query::name;
use super::{build_batch, internal};
use crate::sessions::CATALOG;

pub fn schema(include_schema: bool) -> SchemaRef {
    let mut fields = vec![
        Field::new("catalog_name", DataType::Utf8, true),
        Field::new("db_schema_name", DataType::Utf8, true),
        Field::new("table_name", DataType::Utf8, false),
        Field::new("table_type", DataType::Utf8, false),
    ];
    if include_schema {
        fields.push(Field::new("table_schema", DataType::Binary, false));
    }
    Arc::new(Schema::new(fields))
}

/// Sorted by schema, name and type. Columns have the types in which the client gets their values.
pub async fn batch(session: &Session, command: &CommandGetTables, types: WireTypes) -> Result<RecordBatch, EngineError> {
    let (schemas, names) =
        (Pattern::new(command.db_schema_filter_pattern.as_deref()), Pattern::new(command.table_name_filter_pattern.as_deref()));
    let wanted_types: HashSet<String> = command.table_types.iter().map(|spelling| table_type(spelling)).collect();
    let has_type = |table: &Listed| wanted_types.is_empty() || wanted_types.contains(table.table_type);
    let is_in_catalog = is_in_catalog(command.catalog.as_deref());
    let tables = fitting(listed(session)?, |table, case| {
        is_in_catalog && schemas.fits(&table.schema, case) && names.fits(&table.name, case) && has_type(table)
    });
    if !command.include_schema {
        return build_batch(schema(false), columns(&tables));
    }
    let (mut shown, mut messages) = (Vec::with_capacity(tables.len()), Vec::with_capacity(tables.len()));
    for table in tables {
        if let Some(columns) = columns_of(session, &table, types).await? {
            messages.push(message(&columns)?);
            shown.push(table);
        }
    }
    let mut arrays = columns(&shown);
    arrays.push(Arc::new(BinaryArray::from_iter_values(messages)));
    build_batch(schema(true), arrays)
}

fn columns(tables: &[Listed]) -> Vec<ArrayRef> {
    let text = |value: fn(&Listed) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(tables.iter().map(value))) };
    vec![text(|_| CATALOG), text(|table| &table.schema), text(|table| &table.name), text(|table| table.table_type)]
}

/// The columns as clients get them; `None` if the table was dropped meanwhile. A broken view has no columns, and neither has an
/// external table without its files, so that one such table does not fail the whole list.
async fn columns_of(session: &Session, table: &Listed, types: WireTypes) -> Result<Option<Schema>, EngineError> {
    let origin = Origin {
        catalog: CATALOG.to_string(),
        schema: table.schema.clone(),
        table: table.name.clone(),
        is_read_only: table.table_type != TABLE,
    };
    // Only described and not run, so that a broken view does not fail an open transaction.
    match session.describe(&format!("SELECT * FROM {}.{}", name(&table.schema), name(&table.name))).await {
        Ok(described) => Ok(Some(annotated(&wire_schema(&described.schema, types), Some(&origin)))),
        Err(_) if matches!(table.table_type, VIEW | EXTERNAL_TABLE) => Ok(Some(Schema::empty())),
        Err(error) if listed(session)?.contains(table) => Err(error),
        Err(_) => Ok(None),
    }
}

/// An IPC message, as FlightSql.proto requires it.
fn message(schema: &Schema) -> Result<Vec<u8>, EngineError> {
    let options = IpcWriteOptions::default();
    let IpcMessage(bytes) = IpcMessage::try_from(SchemaAsIpc::new(schema, &options)).map_err(internal)?;
    Ok(bytes.to_vec())
}
