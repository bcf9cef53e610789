//! CALL of a procedure in Python: its process asks for statements, which run here, in the transaction and with the rights of the call.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use pmem_store::DEFAULT_NAMESPACE;
use python_functions::{ProcedureCall, SessionRequest, SessionRows, WriteMode};

use super::call::{CalledProcedure, CollectedRows, error_in_procedure};
use super::{Session, StartLock};
use crate::execution::StatementContext;
use crate::ingest::sent::{IfExists, IfMissing, IngestTarget};
use crate::output::QueryOutput;
use crate::parameters::values_of;
use crate::queries::StatementKind;
use crate::statements::functions::{check_statement, for_definer};
use common::error::EngineError;
use common::memory::StatementMemory;
use common::type_names::full_name;
use table::catalog::python_procedure;

/// A call of a procedure in Python that none in Python waits for.
struct OutermostCall<'a>(&'a AtomicBool);

impl OutermostCall<'_> {
    /// `None` if one runs in the statement already.
    fn of(runs: &AtomicBool) -> Option<OutermostCall<'_>> {
        (!runs.swap(true, Ordering::Relaxed)).then(|| OutermostCall(runs))
    }
}

impl Drop for OutermostCall<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Session {
    /// `values` is a row with the arguments. After the first error of a statement no other one runs, and the call fails with it, whatever the
    /// procedure does.
    pub(super) async fn call_python(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        procedure: &CalledProcedure,
        values: &RecordBatch,
    ) -> Result<QueryOutput, EngineError> {
        let (function, returns) = python_procedure(&ctx.catalog, &ctx.state, &procedure.definition, procedure.definer()).await?;
        let Some(memory) = StatementMemory::of(ctx.state.config_options()).cloned() else {
            return Err(EngineError::internal("a procedure is called outside of a statement"));
        };
        let outermost = OutermostCall::of(&self.python_call);
        let ProcedureCall { mut requests, run } =
            function.call_procedure(values.columns().to_vec(), memory, Arc::clone(&returns), procedure.is_shown, outermost.is_some());
        let (mut run, mut failed) = (pin!(run), None);
        let done = loop {
            tokio::select! {
                biased;
                Some(call) = requests.recv() => {
                    let answer = match failed {
                        None => self.run_request(start_lock, ctx, procedure, &call.request).await,
                        Some(_) => Err(EngineError::internal("an earlier statement of the procedure has failed")),
                    };
                    call.answer(answer.map_err(|error| {
                        let message = error.to_string();
                        failed.get_or_insert(error);
                        message
                    }));
                }
                done = &mut run => break done,
            }
        };
        drop(outermost);
        let rows = match failed {
            Some(error) => return Err(error),
            None => done?,
        };
        if returns.fields().is_empty() {
            return Ok(ctx.nothing(StatementKind::Write));
        }
        let stream = RecordBatchStreamAdapter::new(returns, futures::stream::iter(rows.into_iter().map(Ok)));
        Ok(QueryOutput::done(StatementKind::Query, Box::pin(stream), ctx.report_sources()))
    }

    async fn run_request(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        procedure: &CalledProcedure,
        request: &SessionRequest,
    ) -> Result<SessionRows, EngineError> {
        let (source, line, done) = match request {
            SessionRequest::Statement { text, line, values } => {
                let run = async {
                    check_statement(ctx, text)?;
                    let values = values.as_ref().map_or(Ok(Vec::new()), |values| values_of(values, 0))?;
                    self.run_part(start_lock, ctx, text, values, true).await
                };
                (text.clone(), line, run.await)
            }
            SessionRequest::Write { schema, table, mode, line, columns, batches } => {
                let name = full_name(schema.as_deref().unwrap_or(DEFAULT_NAMESPACE), table);
                let (if_missing, if_exists) = match mode {
                    WriteMode::Create => (IfMissing::Create, IfExists::Fail),
                    WriteMode::Append => (IfMissing::Fail, IfExists::Append),
                    WriteMode::CreateAppend => (IfMissing::Create, IfExists::Append),
                    WriteMode::Replace => (IfMissing::Create, IfExists::Replace),
                };
                if self.has_definer() && *mode != WriteMode::Append {
                    return Err(for_definer("a write that may create a table"));
                }
                let target = IngestTarget { schema: schema.clone(), table: table.clone(), if_missing, if_exists };
                let rows = futures::stream::iter(batches.clone().into_iter().map(Ok));
                let done = self.ingest_in(start_lock, &ctx.query, target, Arc::clone(columns), rows).await;
                // As in `run_part`.
                ctx.query.commit_guard.abandon_commit();
                (format!("INGEST INTO {name}"), line, done.map(|_| CollectedRows::none()))
            }
        };
        let done =
            self.audited(&source, || done).map_err(|error| error_in_procedure(procedure, &format!("line {line}"), &source, error))?;
        Ok(SessionRows { schema: done.schema, batches: done.rows, in_place: done.in_place })
    }
}
