//! A function of a user, and its calls.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::memory_pool::MemoryConsumer;

use super::definition::{Definition, Request};
use super::error::PythonError;
use super::process::CallContext;
use super::session_requests::SessionHandler;
use super::workers::PythonWorkers;
use common::memory::{LiveMemory, StatementMemory};
use common::user_functions::plain_field;

/// A function of a statement. Its calls are made in processes that were started for the same function and user.
#[derive(Debug, Clone)]
pub struct PythonFunction {
    pub(super) workers: Arc<PythonWorkers>,
    pub definition: Arc<Definition>,
}

impl PythonFunction {
    /// `definition` in any types of SQL; the function gets texts and bytes without views.
    pub fn new(workers: Arc<PythonWorkers>, definition: Definition) -> PythonFunction {
        let plain =
            |schema: &SchemaRef| -> SchemaRef { Arc::new(Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>())) };
        let (inputs, returns) = (definition.inputs.iter().map(plain).collect(), plain(&definition.returns));
        PythonFunction { workers, definition: Arc::new(Definition { inputs, returns, ..definition }) }
    }

    /// The procedure with the rights of this user. Its processes serve no other one.
    pub fn of_definer(self, definer: Option<String>) -> PythonFunction {
        PythonFunction { definition: Arc::new(Definition { definer, ..self.definition.as_ref().clone() }), ..self }
    }

    /// The function with tables of these columns.
    pub fn with_tables(&self, tables: impl IntoIterator<Item = SchemaRef>) -> PythonFunction {
        let mut definition = self.definition.as_ref().clone();
        definition.inputs.truncate(1);
        definition.inputs.extend(tables);
        PythonFunction::new(Arc::clone(&self.workers), definition)
    }

    /// What tells it from other functions of its name.
    pub(super) fn identity(&self) -> String {
        format!("{:?}", self.definition)
    }

    /// An error if the source cannot be loaded, or defines no such function.
    pub fn check(&self) -> Result<(), PythonError> {
        self.workers.with_process(&self.definition, &|| false, |_, _| Ok(()))
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
        self.call_with(request, inputs, in_place, memory, &|| memory.has_no_reader(), None)
    }

    pub(super) fn call_with(
        &self,
        request: Request,
        inputs: &[Vec<Vec<ArrayRef>>],
        in_place: Option<&LiveMemory>,
        memory: &StatementMemory,
        is_cancelled: &dyn Fn() -> bool,
        session: Option<&mut SessionHandler<'_>>,
    ) -> Result<Vec<RecordBatch>, PythonError> {
        let reservation = MemoryConsumer::new(format!("function {}", self.definition.name)).register(memory.pool());
        self.workers.with_process(&self.definition, is_cancelled, |process, running| {
            let mut waiting = session.map(|ask| |request| running.while_waiting(is_cancelled, || ask(request)));
            let session = waiting.as_mut().map(|ask| ask as &mut SessionHandler<'_>);
            process.call(&self.definition, &request, inputs, in_place, &CallContext { reservation: &reservation, is_cancelled }, session)
        })
    }
}
