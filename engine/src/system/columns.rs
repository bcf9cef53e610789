//! `system.columns`: the columns of stored tables, and of the session's temporary tables.

use std::sync::Arc;

use arrays::definition::ArrayDefinition;
use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::TableSnapshot;

use super::build::{OPTIONAL, REQUIRED, batch, booleans, numbers, texts};
use super::source::Source;
use common::names::TEMP;
use common::type_names::column_type_name;
use table::definition::definition_of_array;
use table::temporary::TemporaryRows;

struct Row {
    schema: String,
    table: String,
    name: String,
    /// From 1.
    position: u64,
    data_type: String,
    nullable: bool,
    default: Option<String>,
    cluster_position: Option<u64>,
    id: Option<u64>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if let Some(source) = source {
        source.tables()?.iter().for_each(|table| add(&mut rows, table));
        source.temporary.all().iter().for_each(|table| add_temporary(&mut rows, table));
    }
    batch(vec![
        ("schema_name", texts(rows.iter().map(|row| Some(&row.schema))), REQUIRED),
        ("table_name", texts(rows.iter().map(|row| Some(&row.table))), REQUIRED),
        ("column_name", texts(rows.iter().map(|row| Some(&row.name))), REQUIRED),
        ("position", numbers(rows.iter().map(|row| Some(row.position))), REQUIRED),
        ("data_type", texts(rows.iter().map(|row| Some(&row.data_type))), REQUIRED),
        ("is_nullable", booleans(rows.iter().map(|row| Some(row.nullable))), REQUIRED),
        ("column_default", texts(rows.iter().map(|row| row.default.as_ref())), OPTIONAL),
        ("cluster_position", numbers(rows.iter().map(|row| row.cluster_position)), OPTIONAL),
        ("column_id", numbers(rows.iter().map(|row| row.id)), OPTIONAL),
    ])
}

fn add(rows: &mut Vec<Row>, table: &TableSnapshot) {
    let record = table.record();
    let array = definition_of_array(table).and_then(Result::ok);
    let schema = array.as_ref().map_or_else(|| Arc::clone(table.schema()), ArrayDefinition::cell_schema);
    for (position, field) in schema.fields().iter().enumerate() {
        // The columns of an array are not those of its chunks.
        let column = table.columns().get(position).filter(|_| array.is_none());
        let in_key = record.cluster_key.iter().position(|order| order.column == *field.name()).filter(|_| array.is_none());
        rows.push(Row {
            schema: record.namespace.clone(),
            table: record.name.clone(),
            name: field.name().clone(),
            position: position as u64 + 1,
            data_type: column_type_name(field),
            nullable: field.is_nullable(),
            default: column.and_then(|column| column.default_sql.clone()),
            cluster_position: in_key.map(|at| at as u64 + 1),
            id: column.map(|column| u64::from(column.id)),
        });
    }
}

fn add_temporary(rows: &mut Vec<Row>, table: &TemporaryRows) {
    let columns = table.schema.fields().iter().zip(1..).map(|(field, position)| Row {
        schema: TEMP.to_string(),
        table: table.name.clone(),
        name: field.name().clone(),
        position,
        data_type: column_type_name(field),
        nullable: field.is_nullable(),
        default: None,
        cluster_position: None,
        id: None,
    });
    rows.extend(columns);
}
