//! DataFusion over the store: catalog, scan, statements, sessions, memory limits.
//!
//! No network here, and no bytes of a file format of ours: those are `pmem_store`'s.

mod access;
mod audit;
pub mod backup;
mod cancel;
mod catalog;
mod compaction;
mod constraints;
mod dml;
mod engine;
mod error;
mod error_kind;
mod error_text;
mod error_words;
pub mod export;
mod functions;
pub mod import;
mod insert;
mod kernels;
mod memory;
mod optimizer;
mod options;
mod output;
mod plans;
mod queries;
mod report;
mod scan;
mod session;
mod sql;
mod stack;
mod switches;
mod system;
mod trace;
mod types;
mod usage;
mod write;

pub use access::{Identity, redacted};
pub use arrow::array::RecordBatch;
pub use arrow::datatypes::SchemaRef;
pub use catalog::{RemoteTables, TableListing};
pub use engine::Engine;
pub use error::{EngineError, nearest};
pub use error_kind::ErrorKind;
pub use functions::function_as_cast;
pub use options::{EngineOptions, MaintenanceOptions};
pub use output::{QueryOutput, StatementKind};
pub use plans::{Binding, PlanContext};
pub use queries::{Outcome, StatementCounts, StatementEnd};
pub use report::{Bytes, QueryReport};
pub use session::{Description, MappedBatch, MappedFile, MappedPart, MappedTable, Session};
pub use kernels::arrays::{shape_of as tensor_shape, tensor_field};
pub use stack::WORKER_STACK_BYTES;
pub use sql::{StatementText, column_type_name, declared_name};
pub use switches::Pushdown;
pub use usage::Usage;
