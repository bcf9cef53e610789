//! The one row that a write yields: how many rows it has written.

use std::sync::{Arc, LazyLock};

use arrow::array::{RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::error::EngineError;

/// One column, `count`.
pub fn count_schema() -> SchemaRef {
    /// A static, because building it takes almost as long as inserting a row.
    static COUNT: LazyLock<SchemaRef> = LazyLock::new(|| Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)])));
    Arc::clone(&COUNT)
}

pub fn count_batch(rows: u64) -> Result<RecordBatch, EngineError> {
    RecordBatch::try_new(count_schema(), vec![Arc::new(UInt64Array::from(vec![rows]))])
        .map_err(|error| EngineError::internal(error.to_string()))
}
