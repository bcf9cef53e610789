//! A function of a user, and its calls.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::memory_pool::MemoryConsumer;

use super::error::PythonError;
pub use super::process::Request;
use super::workers::PythonWorkers;
use common::memory::{LiveMemory, StatementMemory};
use common::user_functions::{FunctionLimits, plain_field};

/// What the function is called with, and what it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Arrays of a batch in, an array of as many values out.
    Scalar,
    /// Arrays of a group in, a value out.
    Aggregate,
    /// Values and tables in, a table out.
    Table,
}

impl FunctionKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            FunctionKind::Scalar => "scalar",
            FunctionKind::Aggregate => "aggregate",
            FunctionKind::Table => "table",
        }
    }
}

/// A function of a statement. Its calls are made in processes that were started for the same function and user.
#[derive(Debug, Clone)]
pub struct PythonFunction {
    workers: Arc<PythonWorkers>,
    pub definition: Arc<Definition>,
}

/// What a process needs to know of its function; it serves no other.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Definition {
    pub name: String,
    pub kind: FunctionKind,
    /// A function in the source, or a method: `Series.fit`.
    pub symbol: String,
    pub source: String,
    /// The columns of what it is called with: one, or for a table function those of its values and of each table.
    pub inputs: Vec<SchemaRef>,
    pub returns: SchemaRef,
    /// For each parameter of a table function.
    pub is_table: Vec<bool>,
    /// Who calls it; nobody, where the store has no users.
    pub user: Option<String>,
    pub limits: FunctionLimits,
}

impl PythonFunction {
    /// `definition` in any types of SQL; the function gets texts and bytes without views.
    pub fn new(workers: Arc<PythonWorkers>, definition: Definition) -> PythonFunction {
        let plain =
            |schema: &SchemaRef| -> SchemaRef { Arc::new(Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>())) };
        let (inputs, returns) = (definition.inputs.iter().map(plain).collect(), plain(&definition.returns));
        PythonFunction { workers, definition: Arc::new(Definition { inputs, returns, ..definition }) }
    }

    /// What tells it from other functions of its name.
    pub(super) fn identity(&self) -> String {
        format!("{:?}", self.definition)
    }

    /// An error if the source cannot be loaded, or defines no such function.
    pub fn check(&self) -> Result<(), PythonError> {
        self.workers.with_process(&self.definition, &|| false, |_| Ok(()))
    }

    /// The batches that the function returns. Each input is a list of batches, with the columns of its schema; buffers that lie in a segment of
    /// `in_place` are not copied.
    pub fn call(
        &self,
        request: Request,
        inputs: &[Vec<Vec<ArrayRef>>],
        in_place: Option<&LiveMemory>,
        memory: &StatementMemory,
    ) -> Result<Vec<RecordBatch>, PythonError> {
        let is_cancelled = || memory.has_no_reader();
        let reservation = MemoryConsumer::new(format!("function {}", self.definition.name)).register(memory.pool());
        self.workers
            .with_process(&self.definition, &is_cancelled, |process| process.call(&request, inputs, in_place, &reservation, &is_cancelled))
    }
}
