//! A session: one connection's settings and prepared statements; and one running statement of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{EmptyRecordBatchStream, ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use parking_lot::Mutex;
use pmem_store::Author;
use tokio::sync::MutexGuard;
use tracing::Instrument;

use crate::access::{Reads, SessionAccess};
use crate::catalog::{self, CatalogHandle, StoreCatalog};
use crate::dml::{self, Retry};
use crate::engine::EngineShared;
use crate::insert::Targets;
use crate::output::{Measures, QueryOutput, StatementKind};
use crate::queries::{Entry, Gate, Placed, Query, reads_system_alone};
use crate::sql_planner::explain_error::run_error;
use crate::statements::access::run_access;
use crate::statements::alter::alter_table;
use crate::statements::copy::copy_from;
use crate::statements::copy_to::copy_to;
use crate::statements::create_table::create_table;
use crate::statements::describe::described_table;
use crate::statements::external::create_external;
use crate::statements::maintenance::run_maintenance;
use crate::statements::versions::run_versions;
use crate::write::TransactionSlot;
use common::count::count_batch;
use common::error::EngineError;
use common::memory::{QueryPool, StatementMemory};
use common::names::CATALOG;
use common::report::ReportCollector;
use common::stack::deep;
use function_parameters::FunctionParameters;
use result_schema::as_planned;
use semantics::cancel;
use semantics::functions;
use sql::{self, Parsed, StatementText};

mod config;
mod fitting;
mod foreign;
mod function_parameters;
mod import;
mod mapped;
mod names;
mod owner;
mod parameters;
mod planned;
mod planner;
mod plans;
mod result_schema;
mod rows;
mod same;
mod template;
mod transactions;
mod volatile;
mod whole;

pub(crate) use config::config;
pub use mapped::{MappedBatch, MappedFile, MappedPart, MappedTable};
pub(crate) use owner::Owner;
pub use parameters::Description;

/// Statements of a session are planned and started one after the other, in the order in which they come; streams already begun keep
/// their snapshot.
pub struct Session {
    pub(crate) engine: Arc<EngineShared>,
    pub(crate) context: SessionContext,
    pub(crate) catalog: Arc<StoreCatalog>,
    /// The texts of prepared statements, by name.
    prepared: Mutex<HashMap<String, String>>,
    pub(crate) transaction: Arc<TransactionSlot>,
    pub(crate) targets: Targets,
    pub(crate) owner: Owner,
    /// None: it has all rights.
    access: Option<Arc<SessionAccess>>,
    /// Of the statement that is planned and started: what names mean, and what may end it, is kept for one at a time.
    turn: tokio::sync::Mutex<()>,
}

/// One statement while it is planned and started.
pub struct Running {
    pub(crate) engine: Arc<EngineShared>,
    pub(crate) catalog: Arc<StoreCatalog>,
    /// Of the session's user.
    pub(crate) access: Option<Arc<SessionAccess>>,
    pub(crate) state: SessionState,
    function_parameters: Arc<FunctionParameters>,
    sql: String,
    query: Arc<Query>,
    /// The session's transaction as the statement began.
    planned_in: Option<u64>,
    started: Instant,
    collector: Arc<ReportCollector>,
    pool: Arc<QueryPool>,
    memory: StatementMemory,
    runtime: Arc<RuntimeEnv>,
    planning_ms: Mutex<Option<f64>>,
    physical: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}

impl Session {
    /// Without `access` it has all rights.
    pub(crate) fn new(engine: Arc<EngineShared>, access: Option<Arc<SessionAccess>>) -> Result<Session, EngineError> {
        let snapshot = engine.store.snapshot()?;
        let owner = Owner::of(&engine, access.as_deref().map(Author::name));
        let transaction = engine.transactions.new_slot(access.clone().map(|access| access as Arc<dyn Author>));
        let catalog = StoreCatalog::new(Arc::clone(&engine), snapshot, Arc::clone(&transaction), access.clone());
        let context = SessionContext::new_with_state(template::state(&engine));
        context.register_catalog(CATALOG, Arc::new(CatalogHandle(Arc::clone(&catalog))));
        context.register_udf(functions::current_user(catalog.user()));
        catalog.use_session(Arc::downgrade(&context.state_ref()));
        catalog.rest();
        Ok(Session {
            engine,
            context,
            catalog,
            prepared: Mutex::default(),
            transaction,
            targets: Targets::default(),
            owner,
            access,
            turn: Default::default(),
        })
    }

    pub fn split_statements(sql: &str) -> Vec<StatementText<'_>> {
        sql::split_statements(sql)
    }

    /// Plans and starts one statement. Nothing of a query runs before its output is polled; DDL,
    /// SET, INSERT of literals and writes of whole tables have run when this returns.
    pub async fn execute(&self, sql: &str) -> Result<QueryOutput, EngineError> {
        self.execute_as(self.enter(sql), sql).await
    }

    /// As `execute`, of a statement that the front end runs for itself: the audit of what its user did has none of it.
    pub async fn execute_own(&self, sql: &str) -> Result<QueryOutput, EngineError> {
        self.execute_as(self.enter_own(sql), sql).await
    }

    async fn execute_as(&self, entry: Entry, sql: &str) -> Result<QueryOutput, EngineError> {
        let run = async {
            let _turn = self.turn(entry.query()).await?;
            self.run_entered(&entry, sql).await
        };
        let done = run.instrument(entry.query().span.clone()).await;
        entry.hand_over(done)
    }

    /// As `execute`, of a part of the statement that has the session's turn.
    async fn execute_part(&self, sql: &str) -> Result<(), EngineError> {
        let entry = self.enter(sql);
        let done = self.run_entered(&entry, sql).instrument(entry.query().span.clone()).await;
        entry.hand_over(done).map(drop)
    }

    /// Until it is dropped, no other statement of the session is planned or started.
    ///
    /// **Invariant:** whoever has it asks for no second one.
    pub(crate) async fn turn(&self, query: &Query) -> Result<MutexGuard<'_, ()>, EngineError> {
        query.gate.until_stopped(async { Ok(self.turn.lock().await) }).await
    }

    /// A statement of the open transaction failed.
    pub(crate) fn fail_transaction(&self) {
        self.transaction.fail(self.transaction.open_id());
    }

    async fn run_entered(&self, entry: &Entry, sql: &str) -> Result<QueryOutput, EngineError> {
        let query = entry.query();
        match self.insert_directly(sql, query).await {
            Ok(None) => {}
            Ok(Some(done)) => return Ok(done),
            Err(error) => {
                self.fail_transaction();
                return Err(error);
            }
        }
        let mut retry = Retry::new(!self.transaction.is_open());
        loop {
            let running = self.begin(sql, query)?;
            let done = query.gate.until_stopped(deep(sql.len(), self.run(&running))).await;
            self.catalog.rest();
            if let Err(error) = &done {
                if self.is_tried_again(query, &mut retry, error).await? {
                    continue;
                }
            }
            return done.map_err(|error| run_error(sql, error));
        }
    }

    /// Whether a statement that failed is run once more. Where it is not, also because it was ended meanwhile, its transaction
    /// has failed.
    pub(crate) async fn is_tried_again(&self, query: &Query, retry: &mut Retry, error: &EngineError) -> Result<bool, EngineError> {
        let again = query.gate.until_stopped(async { Ok(retry.after(error).await) }).await;
        if !matches!(again, Ok(true)) {
            self.fail_transaction();
        }
        again
    }

    pub(crate) fn begin(&self, sql: &str, query: &Arc<Query>) -> Result<Running, EngineError> {
        self.engine.audit.0.flush_for(sql);
        self.catalog.refresh()?;
        self.transaction.set_gate(Some(&query.gate));
        let collector = Arc::new(ReportCollector::default());
        let process = Arc::clone(&self.engine.runtime.memory_pool);
        let pool = Arc::new(QueryPool::new(process, self.engine.query_memory_limit_bytes));
        query.measure(&collector, &pool);
        let mut runtime = self.engine.runtime.as_ref().clone();
        runtime.memory_pool = Arc::<QueryPool>::clone(&pool);
        let mut state = self.context.state();
        // Time stands still in a transaction, as in PostgreSQL.
        if let Some(started) = self.transaction.started_at() {
            state.execution_props_mut().query_execution_start_time = Some(started.into());
        }
        state.config_mut().set_extension(Arc::clone(&collector));
        let memory = StatementMemory::new(Arc::<QueryPool>::clone(&pool));
        state.config_mut().options_mut().extensions.insert(memory.clone());
        // Functions are called with these.
        let options = Arc::clone(state.config_options());
        state.execution_props_mut().config_options = Some(options);
        let function_parameters = Arc::<FunctionParameters>::default();
        state.register_relation_planner(Arc::<FunctionParameters>::clone(&function_parameters))?;
        Ok(Running {
            engine: Arc::clone(&self.engine),
            catalog: Arc::clone(&self.catalog),
            access: self.access.clone(),
            state,
            function_parameters,
            sql: sql.to_string(),
            query: Arc::clone(query),
            planned_in: self.transaction.open_id(),
            started: Instant::now(),
            collector,
            pool,
            memory,
            runtime: Arc::new(runtime),
            planning_ms: Mutex::new(None),
            physical: Mutex::new(None),
        })
    }

    async fn run(&self, running: &Running) -> Result<QueryOutput, EngineError> {
        let parsed = running.parsed().await?;
        if let Parsed::Statement(statement) = &parsed
            && let Some(done) = self.control(running, statement)?
        {
            return Ok(done);
        }
        self.check_not_failed()?;
        let statement = match parsed {
            Parsed::CopyFrom(copy) => return running.written(copy_from(running, *copy).await?),
            Parsed::CopyTo(copy) => {
                let copied = copy_to(running, *copy).await?;
                return Ok(QueryOutput::new(StatementKind::Write, copied, running.measures()));
            }
            Parsed::CreateTable(create, key) => {
                return match create_table(running, *create, key).await? {
                    Some(rows) => running.written(rows),
                    None => Ok(running.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::AlterTable(alter, key) => {
                alter_table(running, *alter, key).await?;
                return Ok(running.nothing(StatementKind::Ddl));
            }
            Parsed::Versions(statement) => {
                return match run_versions(running, statement).await? {
                    Some(rows) => running.rows(StatementKind::Query, rows),
                    None => Ok(running.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Access(statement) => {
                return match run_access(running, statement).await? {
                    Some(rows) => running.rows(StatementKind::Query, rows),
                    None => Ok(running.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Maintenance(statement) => {
                return match run_maintenance(running, statement).await? {
                    Some(rows) => running.rows(StatementKind::Query, rows),
                    None => Ok(running.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Statement(statement) => *statement,
        };
        let statement = match sql::restated(&running.state, statement)? {
            Statement::CreateExternalTable(table) => {
                create_external(running, table).await?;
                return Ok(running.nothing(StatementKind::Ddl));
            }
            statement => statement,
        };
        if let Some(description) = described_table(running, &statement)? {
            return running.rows(StatementKind::Query, description);
        }
        if is_prepare(&statement) {
            running.function_parameters.describe();
        }
        let plan = running.plan(statement).await?;
        self.run_plan(running, plan).await
    }

    /// The user it works for; None where it is the process itself, which has all rights.
    pub fn user(&self) -> Option<&str> {
        self.catalog.user()
    }
}

impl Running {
    /// Whether it may go on.
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.query.gate
    }

    /// With the memory that the statement may take.
    pub(crate) fn runtime(&self) -> &Arc<RuntimeEnv> {
        &self.runtime
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
        self.planning_ms.lock().get_or_insert(self.started.elapsed().as_secs_f64() * 1e3);
        *self.physical.lock() = Some(Arc::clone(&physical));
        self.query.runs(&physical);
        let task = Arc::new(TaskContext::from(&self.state).with_runtime(Arc::clone(&self.runtime)));
        if reads_system_alone(plan) {
            self.query.exempt();
        }
        let stream = cancel::on_a_task_of(reader, physical.schema(), move || execute_stream(physical, task));
        Ok(Placed::new(&self.engine.queries, &self.query, as_planned(plan.schema().as_arrow(), stream)))
    }

    /// A query, or a write that runs as one.
    async fn query(&self, plan: &LogicalPlan) -> Result<QueryOutput, EngineError> {
        let kind = match plan {
            LogicalPlan::Dml(write) => {
                catalog::check_writable(write)?;
                StatementKind::Write
            }
            _ => StatementKind::Query,
        };
        let stream = self.execute_plan(plan).await?;
        if dml::is_change(plan) {
            return self.written(dml::count(stream).await?);
        }
        Ok(QueryOutput::new(kind, stream, self.measures()))
    }

    fn measures(&self) -> Measures {
        Measures {
            started: self.started,
            planning_ms: self.planning_ms.lock().unwrap_or_default(),
            collector: Arc::clone(&self.collector),
            pool: Arc::clone(&self.pool),
            plan: self.physical.lock().clone(),
            transaction: Arc::clone(self.catalog.transaction()),
            planned_in: self.planned_in,
            reads: self.access.as_ref().zip(self.catalog.permit()).map(|(access, permit)| Reads::new(access, permit)),
        }
    }

    fn nothing(&self, kind: StatementKind) -> QueryOutput {
        let stream = EmptyRecordBatchStream::new(Arc::new(Schema::empty()));
        QueryOutput::done(kind, Box::pin(stream), self.measures())
    }

    /// The count of rows of a write that has run.
    fn written(&self, rows: u64) -> Result<QueryOutput, EngineError> {
        self.rows(StatementKind::Write, count_batch(rows)?)
    }

    fn rows(&self, kind: StatementKind, batch: RecordBatch) -> Result<QueryOutput, EngineError> {
        let stream = RecordBatchStreamAdapter::new(batch.schema(), futures::stream::iter([Ok(batch)]));
        Ok(QueryOutput::done(kind, Box::pin(stream), self.measures()))
    }
}

fn is_prepare(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(statement) if matches!(statement.as_ref(), ast::Statement::Prepare { .. }))
}

/// The session holds no files of a statement that nobody waits for any more.
impl Drop for Running {
    fn drop(&mut self) {
        self.catalog.rest();
    }
}
