//! DESCRIBE: columns and their types as they are declared.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Schema;

use super::type_names::declared_name;
use crate::error::EngineError;

/// One row for each column of `schema`.
pub fn described(schema: &Schema) -> Result<RecordBatch, EngineError> {
    let fields = schema.fields();
    let names = fields.iter().map(|field| Some(field.name().as_str()));
    let types = fields.iter().map(|field| Some(declared_name(field.data_type())));
    let nullable = fields.iter().map(|field| Some(if field.is_nullable() { "YES" } else { "NO" }));
    let columns: [(&str, ArrayRef); 3] = [
        ("column_name", Arc::new(names.collect::<StringArray>())),
        ("data_type", Arc::new(types.collect::<StringArray>())),
        ("is_nullable", Arc::new(nullable.collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter(columns).map_err(|error| EngineError::internal(error.to_string()))
}
