//! The context of one statement while it is planned and started.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{EmptyRecordBatchStream, ExecutionPlan, execute_stream};
use parking_lot::Mutex;

use super::result_schema::as_planned;
use crate::output::{QueryOutput, ReportSources};
use crate::parameters::FunctionParameters;
use crate::planning::plan_cache::StatementOrigin;
use crate::queries::{AdmittedStream, Query, StatementKind, reads_system_alone};
use crate::shared::EngineShared;
use common::count::count_batch;
use common::error::EngineError;
use common::memory::{QueryPool, StatementMemory};
use common::report::ReportCollector;
use semantics::cancel;
use semantics::subplans::connect_subplans;
use table::access::{ReadRecheck, SessionAccess};
use table::catalog::StoreCatalog;
use table::commit_guard::CommitGuard;

/// The state and resources of a statement; the session passes it to each step.
pub struct StatementContext {
    pub(crate) engine: Arc<EngineShared>,
    pub(crate) catalog: Arc<StoreCatalog>,
    /// The access of the session's user.
    pub(crate) access: Option<Arc<SessionAccess>>,
    pub(crate) state: SessionState,
    /// The settings of the session, without what belongs to the statement.
    pub(crate) session_options: Arc<ConfigOptions>,
    pub(crate) function_parameters: Arc<FunctionParameters>,
    pub(crate) sql: String,
    pub(crate) query: Arc<Query>,
    /// The version of the store at which the text alone is the statement; not set for one that depends on more.
    pub(crate) text_version: OnceLock<u64>,
    /// The session's transaction when the statement began.
    planned_in: Option<u64>,
    started: Instant,
    collector: Arc<ReportCollector>,
    pool: Arc<QueryPool>,
    memory: StatementMemory,
    runtime: Arc<RuntimeEnv>,
    planning_ms: Mutex<Option<f64>>,
    physical: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}

impl StatementContext {
    /// `catalog` and `state` are the statement's own.
    pub(crate) fn new(
        engine: &Arc<EngineShared>,
        catalog: &Arc<StoreCatalog>,
        access: Option<Arc<SessionAccess>>,
        mut state: SessionState,
        sql: &str,
        query: &Arc<Query>,
    ) -> Result<StatementContext, EngineError> {
        let collector = Arc::new(ReportCollector::default());
        let process = Arc::clone(&engine.runtime.memory_pool);
        let pool = Arc::new(QueryPool::new(process, engine.query_memory_limit_bytes));
        query.measure(&collector, &pool);
        let mut runtime = engine.runtime.as_ref().clone();
        runtime.memory_pool = Arc::<QueryPool>::clone(&pool);
        // Time stands still in a transaction, as in PostgreSQL.
        if let Some(started) = catalog.transaction().started_at() {
            state.execution_props_mut().query_execution_start_time = Some(started.into());
        }
        let session_options = Arc::clone(state.config_options());
        let memory = StatementMemory::new(Arc::<QueryPool>::clone(&pool));
        let catalog = catalog.with_memory(memory.clone());
        state.register_catalog_list(catalog.catalog_list());
        state.config_mut().set_extension(Arc::clone(&collector));
        state.config_mut().options_mut().extensions.insert(memory.clone());
        // These are the options that functions are called with.
        let options = Arc::clone(state.config_options());
        state.execution_props_mut().config_options = Some(options);
        let function_parameters = Arc::<FunctionParameters>::default();
        state.register_relation_planner(Arc::<FunctionParameters>::clone(&function_parameters))?;
        let planned_in = catalog.transaction().open_id();
        Ok(StatementContext {
            engine: Arc::clone(engine),
            catalog,
            access,
            state,
            session_options,
            function_parameters,
            sql: sql.to_string(),
            query: Arc::clone(query),
            text_version: OnceLock::new(),
            planned_in,
            started: Instant::now(),
            collector,
            pool,
            memory,
            runtime: Arc::new(runtime),
            planning_ms: Mutex::new(None),
            physical: Mutex::new(None),
        })
    }

    /// Decides whether the statement may go on.
    pub(crate) fn commit_guard(&self) -> &Arc<CommitGuard> {
        &self.query.commit_guard
    }

    /// With the memory limit of the statement.
    pub(crate) fn runtime(&self) -> &Arc<RuntimeEnv> {
        &self.runtime
    }

    pub(crate) fn origin(&self) -> StatementOrigin<'_> {
        StatementOrigin {
            sql: &self.sql,
            user: self.catalog.user(),
            options: &self.session_options,
            version: self.text_version.get().copied(),
        }
    }

    /// Optimises the plan and starts it.
    pub(crate) async fn execute_plan(&self, plan: &LogicalPlan) -> Result<SendableRecordBatchStream, EngineError> {
        let physical = self.physical_plan(plan).await?;
        self.execute_physical(plan, physical)
    }

    /// Starts the operators of `plan`.
    pub(crate) fn execute_physical(
        &self,
        plan: &LogicalPlan,
        physical: Arc<dyn ExecutionPlan>,
    ) -> Result<SendableRecordBatchStream, EngineError> {
        self.memory.run();
        let (physical, reader) = cancel::interruptible(physical, Some(self.memory.pool()))?;
        connect_subplans(&physical)?;
        self.memory.is_read_by(reader.downgraded());
        self.planning_ms.lock().get_or_insert(self.started.elapsed().as_secs_f64() * 1e3);
        *self.physical.lock() = Some(Arc::clone(&physical));
        self.query.runs(&physical);
        let task = Arc::new(TaskContext::from(&self.state).with_runtime(Arc::clone(&self.runtime)));
        if reads_system_alone(plan) {
            self.query.exempt();
        }
        let stream = cancel::on_a_task_of(reader, physical.schema(), move || execute_stream(physical, task));
        Ok(AdmittedStream::boxed(&self.engine.queries, &self.query, as_planned(plan.schema().as_arrow(), stream)))
    }

    pub(crate) fn report_sources(&self) -> ReportSources {
        ReportSources {
            started: self.started,
            planning_ms: self.planning_ms.lock().unwrap_or_default(),
            collector: Arc::clone(&self.collector),
            pool: Arc::clone(&self.pool),
            plan: self.physical.lock().clone(),
            transaction: Arc::clone(self.catalog.transaction()),
            planned_in: self.planned_in,
            read_recheck: self
                .access
                .as_ref()
                .zip(self.catalog.authorization())
                .map(|(access, authorization)| ReadRecheck::new(access, authorization)),
        }
    }

    pub(crate) fn nothing(&self, kind: StatementKind) -> QueryOutput {
        let stream = EmptyRecordBatchStream::new(Arc::new(Schema::empty()));
        QueryOutput::done(kind, Box::pin(stream), self.report_sources())
    }

    /// The row count of a finished write.
    pub(crate) fn write_output(&self, rows: u64) -> Result<QueryOutput, EngineError> {
        self.rows(StatementKind::Write, count_batch(rows)?)
    }

    pub(crate) fn rows(&self, kind: StatementKind, batch: RecordBatch) -> Result<QueryOutput, EngineError> {
        let stream = RecordBatchStreamAdapter::new(batch.schema(), futures::stream::iter([Ok(batch)]));
        Ok(QueryOutput::done(kind, Box::pin(stream), self.report_sources()))
    }
}

impl Drop for StatementContext {
    fn drop(&mut self) {
        self.memory.end_planning();
    }
}
