//! `CommandGetTableTypes`: the types of tables.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::CommandGetTableTypes;
use engine::{EngineError, Session};

use super::build_batch;
use super::listing::TABLE_TYPES;

pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("table_type", DataType::Utf8, false)]))
}

pub fn batch(_: &Session, _: &CommandGetTableTypes) -> Result<RecordBatch, EngineError> {
    let types: ArrayRef = Arc::new(StringArray::from(TABLE_TYPES.to_vec()));
    build_batch(schema(), vec![types])
}
