//! The name of a row within one version of its table: which segment, and where in it.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

/// A column no table has: statements that change rows ask for it.
pub const ROW_ID: &str = "__quiver_row_id";

const ROW_BITS: u32 = 32;

/// Rows that follow one another in a segment have ids that do.
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

/// The schema with the row's id as its last column.
pub fn with_row_id(schema: &SchemaRef) -> SchemaRef {
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(ROW_ID, DataType::UInt64, false)));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
