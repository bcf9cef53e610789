//! The answers to the metadata calls of Flight SQL, as record batches.
//!
//! | command | columns | rows |
//! |---|---|---|
//! | `CommandGetCatalogs` | [`catalogs::schema`]`()` | [`catalogs::batch`]`(session, &command)` |
//! | `CommandGetDbSchemas` | [`db_schemas::schema`]`()` | [`db_schemas::batch`]`(session, &command)` |
//! | `CommandGetTables` | [`tables::schema`]`(command.include_schema)` | [`tables::batch`]`(session, &command, types).await` |
//! | `CommandGetTableTypes` | [`table_types::schema`]`()` | [`table_types::batch`]`(session, &command)` |
//! | `CommandGetPrimaryKeys` | [`primary_keys::schema`]`()` | [`primary_keys::batch`]`(session, &command).await` |
//! | `…ExportedKeys`, `…ImportedKeys`, `…CrossReference` | [`foreign_keys::schema`]`()` | [`foreign_keys::batch`]`()` |
//! | `CommandGetSqlInfo` | [`sql_info::schema`]`()` | [`sql_info::batch`]`(session, &command, &facts)` |
//! | `CommandGetXdbcTypeInfo` | [`xdbc_types::schema`]`()` | [`xdbc_types::batch`]`(session, &command)` |
//!
//! Each `batch` returns `Result<RecordBatch, EngineError>`, one batch with exactly the columns of its `schema`; that of
//! `foreign_keys` cannot fail. [`ServerFacts`] has what only the server knows. `flight_wire::annotated` adds to a schema
//! the metadata that JDBC and ADBC read of each column.
//!
//! The engine is queried by SQL in the caller's session, so a transaction sees its own changes.
//!
//! **Invariants.** Names of columns, their types and whether they may be NULL are those of FlightSql.proto. A call
//! without a filter returns everything. Rows come in the order that the proto says.

pub mod catalogs;
pub mod db_schemas;
mod definition;
pub mod foreign_keys;
mod listing;
mod pattern;
pub mod primary_keys;
mod query;
pub mod sql_info;
pub mod table_types;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod xdbc_types;

use std::fmt::Display;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use engine::EngineError;

pub use sql_info::ServerFacts;

fn build_batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch, EngineError> {
    RecordBatch::try_new(schema, columns).map_err(internal)
}

fn internal(error: impl Display) -> EngineError {
    EngineError::Internal(error.to_string())
}
