//! The id of a row within one version of its table: its segment and its position.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

/// A column that no table has, for statements that change rows.
pub const ROW_ID: &str = "__quiver_row_id";

const ROW_BITS: u32 = 32;

/// Consecutive rows of a segment have consecutive ids.
pub fn encode(segment: u64, row: usize) -> Result<u64> {
    if segment >> ROW_BITS != 0 || row as u64 >> ROW_BITS != 0 {
        return exec_err!("segment {segment} or its row {row} is out of range");
    }
    Ok(segment << ROW_BITS | row as u64)
}

/// Segment and row.
pub fn decode(id: u64) -> (u64, u32) {
    (id >> ROW_BITS, id as u32)
}

pub fn row_id_field() -> Field {
    Field::new(ROW_ID, DataType::UInt64, false)
}

/// The schema with the row id as its last column.
pub fn with_row_id(schema: &SchemaRef) -> SchemaRef {
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    fields.push(Arc::new(row_id_field()));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
