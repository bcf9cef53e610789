//! `CommandGetDbSchemas`: the namespaces of the store, and those with tables about it.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::CommandGetDbSchemas;
use engine::{EngineError, Session};

use super::build_batch;
use super::listing::schema_names;
use super::pattern::{Pattern, fitting, is_in_catalog};
use crate::sessions::CATALOG;

pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("catalog_name", DataType::Utf8, true), Field::new("db_schema_name", DataType::Utf8, false)]))
}

/// By name.
pub fn batch(session: &Session, command: &CommandGetDbSchemas) -> Result<RecordBatch, EngineError> {
    let pattern = Pattern::new(command.db_schema_filter_pattern.as_deref());
    let is_in_catalog = is_in_catalog(command.catalog.as_deref());
    let names = fitting(schema_names(session)?, |name, case| is_in_catalog && pattern.fits(name, case));
    let catalogs: ArrayRef = Arc::new(StringArray::from(vec![CATALOG; names.len()]));
    build_batch(schema(), vec![catalogs, Arc::new(StringArray::from(names))])
}
