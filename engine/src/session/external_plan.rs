//! Statements that arrive as foreign plans instead of SQL. From the plan on they are like all others: registered, with time and memory
//! limits, stopped by KILL, in the session's transaction, and with the rights of its user.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::logical_expr::LogicalPlan;
use futures::FutureExt;
use tracing::Instrument;

use super::Session;
use super::parameters::{Description, Prepared};
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::parameters::values_of;
use crate::plans::{Binding, PlanContext, check_reads};
use crate::queries::Query;
use common::error::EngineError;
use common::error::kind::ErrorKind;
use common::stack::deep;
use table::catalog::plan_languages;

const BROKE_OFF: &str = "planning it broke off";

impl Session {
    /// As `execute`, for a statement whose plan `build` makes from input of this size. `text` is what lists and the audit show: one line,
    /// without secrets. Only plans that read are accepted.
    pub async fn execute_plan_of<B, F>(
        &self,
        text: &str,
        size_bytes: usize,
        binding: &Binding,
        build: B,
    ) -> Result<QueryOutput, EngineError>
    where
        B: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<LogicalPlan, EngineError>>,
    {
        self.run_plan_of(text, size_bytes, binding, build, None).await
    }

    /// The languages of the functions that the session's user may send with a plan.
    pub fn plan_languages(&self) -> Result<Vec<&'static str>, EngineError> {
        Ok(plan_languages(&*self.catalog.for_statement(None)?))
    }

    /// The same with values for the plan's parameters: a row of `parameters`, in the order of its columns.
    pub async fn execute_plan_with<B, F>(
        &self,
        text: &str,
        size_bytes: usize,
        binding: &Binding,
        build: B,
        parameters: &RecordBatch,
        row: usize,
    ) -> Result<QueryOutput, EngineError>
    where
        B: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<LogicalPlan, EngineError>>,
    {
        match parameters.num_columns() {
            0 => self.run_plan_of(text, size_bytes, binding, build, None).await,
            _ => self.run_plan_of(text, size_bytes, binding, build, Some(values_of(parameters, row)?)).await,
        }
    }

    /// The parameters and columns of a plan that a client is about to run. If it is refused, that is audited as if it had run.
    pub async fn describe_plan_of<B, F>(&self, text: &str, binding: &Binding, build: B) -> Result<Description, EngineError>
    where
        B: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<LogicalPlan, EngineError>>,
    {
        let query = self.unregistered(text);
        let described = self.described_plan(binding, build).instrument(query.span.clone()).await;
        self.record_failed_describe(query, described)
    }

    pub(super) async fn described_plan<B, F>(&self, binding: &Binding, build: B) -> Result<Description, EngineError>
    where
        B: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<LogicalPlan, EngineError>>,
    {
        self.in_context(binding, |context| async move {
            guarded(async {
                let prepared = Prepared::of_plan(read_by(build, &context).await?)?;
                let parameters = Arc::new(Schema::new(prepared.parameters));
                Ok(Description { parameters, ..Description::of_rows(Arc::clone(prepared.plan.schema().inner())) })
            })
            .await
        })
        .await
    }

    /// Does something with plans without running one, such as making a plan of the statement `text` for another system. If it is refused,
    /// that is audited as if it had run.
    pub async fn with_plans<W, F, T>(&self, text: &str, binding: &Binding, work: W) -> Result<T, EngineError>
    where
        W: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<T, EngineError>>,
    {
        let query = self.unregistered(text);
        let done = self.in_context(binding, work).instrument(query.span.clone()).await;
        self.record_failed_describe(query, done)
    }

    async fn in_context<W, F, T>(&self, binding: &Binding, work: W) -> Result<T, EngineError>
    where
        W: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<T, EngineError>>,
    {
        let query = Query::unregistered();
        let start_lock = self.start_lock(&query).await?;
        let ctx = self.begin(&start_lock, "", &query)?;
        let context = ctx.plan_context(binding);
        // A panic while planning SQL is a fault of ours, so it becomes an internal error.
        let done = catch_panic(async move { work(context).await }, || EngineError::internal(BROKE_OFF));
        self.in_time(deep(usize::MAX, done)).await
    }

    /// A plan that reads meets no conflict, so it is not retried.
    async fn run_plan_of<B, F>(
        &self,
        text: &str,
        size_bytes: usize,
        binding: &Binding,
        build: B,
        values: Option<Vec<ScalarAndMetadata>>,
    ) -> Result<QueryOutput, EngineError>
    where
        B: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<LogicalPlan, EngineError>>,
    {
        let entry = self.register_statement(text);
        let query = entry.query();
        let run = async {
            let start_lock = self.start_lock(query).await?;
            let ctx = self.begin(&start_lock, text, query)?;
            let planned = guarded(self.planned_elsewhere(ctx, binding, build, values));
            let done = query.commit_guard.until_stopped(deep(size_bytes, planned)).await;
            if done.is_err() {
                self.fail_transaction();
            }
            done
        };
        let done = run.instrument(query.span.clone()).await;
        QueryOutput::of_entry(entry, done)
    }

    async fn planned_elsewhere<B, F>(
        &self,
        mut ctx: StatementContext,
        binding: &Binding,
        build: B,
        values: Option<Vec<ScalarAndMetadata>>,
    ) -> Result<QueryOutput, EngineError>
    where
        B: FnOnce(Arc<PlanContext>) -> F,
        F: Future<Output = Result<LogicalPlan, EngineError>>,
    {
        self.check_not_failed()?;
        // Errors have no position, because there is no text.
        ctx.sql.clear();
        let context = ctx.plan_context(binding);
        let plan = read_by(build, &context).await?;
        let plan = match values {
            None => plan,
            Some(values) => Prepared::of_plan(plan)?.filled(values)?,
        };
        ctx.query(&plan).await
    }
}

impl StatementContext {
    fn plan_context(&self, binding: &Binding) -> Arc<PlanContext> {
        Arc::new(PlanContext::new(self.state.clone(), Arc::clone(&self.engine), Arc::clone(&self.catalog), binding.clone()))
    }
}

/// Builds the plan, checks that it only reads, and checks its binding.
async fn read_by<B, F>(build: B, context: &Arc<PlanContext>) -> Result<LogicalPlan, EngineError>
where
    B: FnOnce(Arc<PlanContext>) -> F,
    F: Future<Output = Result<LogicalPlan, EngineError>>,
{
    let plan = build(Arc::clone(context)).await?;
    check_reads(&plan)?;
    context.check_bound()?;
    Ok(plan)
}

/// A foreign plan may be one that no SQL produces. A panic or an internal error of the planner must only fail this statement.
async fn guarded<T>(planning: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
    let wrong = |why: &str| {
        let message = format!("this plan cannot be run: {why}");
        EngineError::Plan { message, hint: Some("please report it, with the plan".into()), kind: ErrorKind::Invalid }
    };
    match catch_panic(planning, || wrong(BROKE_OFF)).await {
        Err(EngineError::Internal(why)) => Err(wrong(&why)),
        done => done,
    }
}

/// A panic would end the task of the front end that asks, and its connection.
async fn catch_panic<T>(
    planning: impl Future<Output = Result<T, EngineError>>,
    broken: impl FnOnce() -> EngineError,
) -> Result<T, EngineError> {
    AssertUnwindSafe(planning).catch_unwind().await.unwrap_or_else(|_| Err(broken()))
}
