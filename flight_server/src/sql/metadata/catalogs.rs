//! `CommandGetCatalogs`: the store.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::CommandGetCatalogs;
use engine::{EngineError, Session};

use super::build_batch;
use crate::sessions::CATALOG;

pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("catalog_name", DataType::Utf8, false)]))
}

pub fn batch(_: &Session, _: &CommandGetCatalogs) -> Result<RecordBatch, EngineError> {
    let names: ArrayRef = Arc::new(StringArray::from(vec![CATALOG]));
    build_batch(schema(), vec![names])
}
