//! `CommandGetDbSchemas`: the namespaces of the store, and those with tables about it.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::CommandGetDbSchemas;
use engine::{EngineError, Session};

use super::build_batch;
use super::listing::schema_names;
use super::pattern::{Pattern, is_in_catalog};
use crate::sessions::CATALOG;

pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("catalog_name", DataType::Utf8, true), Field::new("db_schema_name", DataType::Utf8, false)]))
}

/// By name.
pub fn batch(session: &Session, command: &CommandGetDbSchemas) -> Result<RecordBatch, EngineError> {
    let pattern = Pattern::new(command.db_schema_filter_pattern.as_deref());
    let mut names = schema_names(session)?;
    names.retain(|name| is_in_catalog(command.catalog.as_deref()) && pattern.fits(name));
    let catalogs: ArrayRef = Arc::new(StringArray::from(vec![CATALOG; names.len()]));
    build_batch(schema(), vec![catalogs, Arc::new(StringArray::from(names))])
}
