//! A call of a procedure: while it computes, it asks for statements, which the session that called it runs.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use kernels::threads::in_background;
use tokio::sync::{mpsc, oneshot};

use super::definition::Request;
use super::error::PythonError;
use super::function::PythonFunction;
use super::results::typed;
use super::session_requests::SessionCall;
use common::error::EngineError;
use common::memory::StatementMemory;

/// A call of a procedure with these values, which begins when `run` is polled.
pub struct ProcedureCall<F> {
    /// They come one after the other; the next one comes after the answer.
    pub requests: mpsc::Receiver<SessionCall>,
    /// The rows of the result.
    pub run: F,
}

impl PythonFunction {
    /// `returns` are the columns of the result in the types of SQL; `shows_source` whether an error may have lines of the source; `is_outermost`
    /// whether no other procedure waits for it. Dropping the future ends the process.
    pub fn call_procedure(
        &self,
        values: Vec<ArrayRef>,
        memory: StatementMemory,
        returns: SchemaRef,
        shows_source: bool,
        is_outermost: bool,
    ) -> ProcedureCall<impl Future<Output = Result<Vec<RecordBatch>, EngineError>> + use<>> {
        let (sender, requests) = mpsc::channel(1);
        let function = self.clone();
        let run = in_background(move |stop| {
            let is_cancelled = || stop.is_set();
            let mut ask = |request| {
                let (answer, answered) = oneshot::channel();
                let sent = sender.blocking_send(SessionCall::new(request, answer));
                sent.ok().and_then(|()| answered.blocking_recv().ok()).ok_or(PythonError::Cancelled)
            };
            let results = function.call_with(Request::default(), &[vec![values]], None, &memory, &is_cancelled, Some(&mut ask));
            let typed = results.and_then(|results| results.iter().map(|result| typed(result, &returns)).collect::<Result<Vec<_>, _>>());
            let shown = |error| match error {
                PythonError::Failed { message, .. } if !shows_source => PythonError::Failed { message, traceback: None },
                error => error,
            };
            typed.map_err(|error| shown(error).of(&function.definition.name).into_datafusion())
        });
        let admission = is_outermost.then(|| self.workers.procedure_admission());
        let run = async move {
            // One that waits for its statement is no call that is counted, and has a process and a thread all the same.
            let _permit = match admission {
                Some(admission) => admission.acquire_owned().await.ok(),
                None => None,
            };
            run.await.map_err(EngineError::from)
        };
        ProcedureCall { requests, run }
    }
}
