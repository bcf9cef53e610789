//! An open store with its tables, sessions and statements; DataFusion plans and runs the queries.
//!
//! There is no network code here, and no file format of ours: that is in `pmem_store`.

mod audit;
pub mod backup;
mod compaction;
mod dml;
mod engine;
mod execution;
mod ingest;
mod insert;
mod objects;
mod options;
mod output;
mod parameters;
mod planning;
mod plans;
mod queries;
mod requests;
mod session;
mod shared;
mod sql_planner;
mod statements;
mod system;
#[cfg(test)]
mod tests;
mod usage;

pub use arrow::array::RecordBatch;
pub use arrow::datatypes::SchemaRef;
pub use common::engine_settings::Pushdown;
pub use common::error::kind::ErrorKind;
pub use common::error::{EngineError, nearest};
pub use common::report::{Bytes, QueryReport};
pub use common::sizes::parse_size;
pub use common::stack::{WORKER_STACK_BYTES, check_address_space};
pub use common::tensor_shape::shape_of as tensor_shape;
pub use common::tensors::tensor_field;
pub use common::type_names::{column_type_name, declared_name};
pub use common::user_functions::{PortableFunction, UserAggregate, UserScalar};
pub use engine::Engine;
pub use files::export;
pub use options::{EngineOptions, MaintenanceOptions};
pub use output::QueryOutput;
pub use plans::{Binding, PlanContext};
pub use pmem_store::attributes::AttributeValue;
pub use pmem_store::objects::StoredBytes;
pub use pmem_store::{HandOff, lower_thread_priority};
pub use queries::{Outcome, StatementCounts, StatementEnd, StatementKind};
pub use semantics::functions::{chain_as_operators, function_as_cast};
pub use semantics::plan_order::{Order, order_of};
pub use session::{ArrayChunks, Description, MappedBatch, MappedFile, MappedPart, MappedTable, Session, TagRange};
pub use sql::keywords::{KEYWORDS, is_keyword};
pub use sql::redact::redact_statement;
pub use sql::{SELECT_COLUMNS_MAX, StatementText};
pub use table::access::Identity;
pub use table::catalog::{PlanFunction, TableListing};
pub use table::remote_tables::RemoteTables;
pub use table::user_tables::{TableFunction, UserTable};
pub use usage::Usage;

/// Imports files and batches of a program into tables.
pub mod import {
    pub use common::type_names::plain::sql_type_name;
    pub use files::import::{
        BadRow, Batches, CsvOptions, Encoding, FileFormat, FileScan, ImportError, ImportProgress, OnError, ReadOptions, RowPosition,
        foreign_form, guarded, silence_guarded_panics,
    };

    pub use sql::type_named;

    pub use crate::ingest::load::{ImportSummary, LoadMode, LoadOptions};
    pub use crate::ingest::sent::{IfExists, IfMissing, IngestTarget};
}
