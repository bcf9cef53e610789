//! What a procedure asks its session for while it computes.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use serde::Deserialize;
use tokio::sync::oneshot;

use super::error::PythonError;
use common::memory::LiveMemory;

/// What a procedure asks its session for. `line` is the line of its source that asks.
pub enum SessionRequest {
    /// `values` is a row with those of `$1`, `$2`, …
    Statement { text: String, line: usize, values: Option<RecordBatch> },
    /// Rows for a table.
    Write { schema: Option<String>, table: String, mode: WriteMode, line: usize, columns: SchemaRef, batches: Vec<RecordBatch> },
}

/// What is to be done if the table is there, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    Create,
    Append,
    CreateAppend,
    Replace,
}

/// The rows of a statement.
pub struct SessionRows {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
    /// Where they may lie; such buffers are not copied.
    pub in_place: LiveMemory,
}

/// Runs what a procedure asks for. The inner error is one that the procedure sees.
pub type SessionHandler<'a> = dyn FnMut(SessionRequest) -> Result<Result<SessionRows, String>, PythonError> + 'a;

/// A request that waits for its answer. Dropping it ends the procedure.
pub struct SessionCall {
    pub request: SessionRequest,
    answer: oneshot::Sender<Result<SessionRows, String>>,
}

impl SessionCall {
    pub fn new(request: SessionRequest, answer: oneshot::Sender<Result<SessionRows, String>>) -> SessionCall {
        SessionCall { request, answer }
    }

    pub fn answer(self, answer: Result<SessionRows, String>) {
        // If the call has ended meanwhile, nobody needs it.
        let _ = self.answer.send(answer);
    }
}
