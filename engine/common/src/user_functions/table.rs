//! Functions that return a table.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::error::EngineError;
use crate::memory::{LiveMemory, StatementMemory};

/// What such a function gets: a table, or a row with its values.
pub struct TableInput {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

/// A function of a user that returns a table, in whatever language.
pub trait TableKernel: Send + Sync {
    /// What tells it from others of its name.
    fn identity(&self) -> String;

    /// The batches that it returns, in the types of SQL. The first input is a row with its values, the others are its tables; they may lie in
    /// segments of `in_place`. An error names the function.
    fn call(&self, inputs: &[TableInput], in_place: &LiveMemory, memory: &StatementMemory) -> Result<Vec<RecordBatch>, EngineError>;
}
