//! A session: one connection's settings and prepared statements.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use parking_lot::Mutex;
use pmem_store::Author;
use tokio::sync::MutexGuard;
use tracing::Instrument;

use crate::dml::{self, Retry};
use crate::execution::StatementContext;
use crate::insert::InsertTargetCache;
use crate::output::QueryOutput;
use crate::queries::{Query, StatementEntry, StatementKind};
use crate::shared::EngineShared;
use crate::sql_planner::explain_error::run_error;
use crate::sql_planner::views::SqlViewPlanner;
use crate::statements::access::run_access;
use crate::statements::alter::alter_table;
use crate::statements::arrays::run_arrays;
use crate::statements::copy::copy_from;
use crate::statements::copy_to::copy_to;
use crate::statements::create_table::create_table;
use crate::statements::describe::described_table;
use crate::statements::external::create_external;
use crate::statements::functions as user_functions;
use crate::statements::maintenance::run_maintenance;
use crate::statements::objects::{ObjectResult, is_query, run_objects};
use crate::statements::versions::run_versions;
use common::error::EngineError;
use common::names::CATALOG;
use common::stack::deep;
use semantics::functions;
use sql::{self, FunctionStatement, Parsed, StatementText};
use table::access::SessionAccess;
use table::catalog::{CatalogHandle, StoreCatalog};
use table::transactions::TransactionSlot;

mod append;
mod batch_execution;
mod call;
mod chunks;
mod completion_names;
mod copy_settings;
mod external_plan;
mod import;
mod ingest;
mod insert;
mod mapped;
mod objects;
mod parameters;
mod planner;
mod plans;
mod python_call;
mod statement_entry;
mod table_scan;
mod tables;
mod template;
mod temporary_tables;
mod transactions;

pub use chunks::ArrayChunks;
pub use mapped::{MappedBatch, MappedFile, MappedPart, MappedTable};
pub use objects::TagRange;
pub use parameters::Description;
pub(crate) use statement_entry::SessionIdentity;

/// Statements of a session are planned and started one after the other, in the order of arrival; streams that have begun keep their
/// snapshot.
pub struct Session {
    pub(crate) engine: Arc<EngineShared>,
    pub(crate) context: SessionContext,
    pub(crate) catalog: Arc<StoreCatalog>,
    /// The texts of prepared statements, by name.
    prepared: Mutex<HashMap<String, String>>,
    pub(crate) transaction: Arc<TransactionSlot>,
    pub(crate) targets: InsertTargetCache,
    pub(crate) identity: SessionIdentity,
    /// `None`: the session has all rights.
    access: Option<Arc<SessionAccess>>,
    /// For the statements of a procedure with SECURITY DEFINER, while they run.
    definer: Mutex<Option<Arc<DefinerContext>>>,
    /// Procedures that call each other, in the statement that runs.
    call_depth: AtomicUsize,
    /// Whether one of them is in Python.
    python_call: AtomicBool,
    start_lock: tokio::sync::Mutex<()>,
}

/// Held while one statement of a session is planned and started: the next one sees its settings, transactions and commits.
pub(crate) struct StartLock<'a> {
    _guard: MutexGuard<'a, ()>,
}

/// What the statements of a procedure with SECURITY DEFINER see: the rights of its owner, and the settings and temporary tables of a new session. Those of
/// the caller could change which tables the names of the procedure mean.
pub(crate) struct DefinerContext {
    access: Arc<SessionAccess>,
    context: SessionContext,
    catalog: Arc<StoreCatalog>,
}

/// The initial state of a session with these rights, and its catalog. `user` is whom `current_user` names.
fn context_of(
    engine: &Arc<EngineShared>,
    transaction: &Arc<TransactionSlot>,
    access: Option<Arc<SessionAccess>>,
    user: Option<&str>,
) -> Result<(SessionContext, Arc<StoreCatalog>), EngineError> {
    let snapshot = engine.store.snapshot()?;
    let context_engine = Arc::<EngineShared>::clone(engine);
    let catalog = StoreCatalog::new(context_engine, snapshot, Arc::clone(transaction), access, Arc::new(SqlViewPlanner));
    let context = SessionContext::new_with_state(template::state(engine));
    context.register_catalog(CATALOG, Arc::new(CatalogHandle(Arc::clone(&catalog))));
    context.register_udf(functions::current_user(user));
    catalog.use_session(Arc::downgrade(&context.state_ref()));
    Ok((context, catalog))
}

impl Session {
    /// Without `access` the session has all rights.
    pub(crate) fn new(engine: Arc<EngineShared>, access: Option<Arc<SessionAccess>>) -> Result<Session, EngineError> {
        let identity = SessionIdentity::of(&engine, access.as_deref().map(Author::name));
        let transaction = engine.transactions.new_slot(access.clone().map(|access| access as Arc<dyn Author>));
        let user = access.as_deref().map(Author::name);
        let (context, catalog) = context_of(&engine, &transaction, access.clone(), user)?;
        Ok(Session {
            engine,
            context,
            catalog,
            prepared: Mutex::default(),
            transaction,
            targets: InsertTargetCache::default(),
            identity,
            access,
            definer: Mutex::default(),
            call_depth: AtomicUsize::new(0),
            python_call: AtomicBool::new(false),
            start_lock: Default::default(),
        })
    }

    pub fn split_statements(sql: &str) -> Vec<StatementText<'_>> {
        sql::split_statements(sql)
    }

    /// Plans and starts one statement. Nothing of a query runs before its output is polled; DDL,
    /// SET, INSERT of literals and writes of whole tables have run when this returns.
    pub async fn execute(&self, sql: &str) -> Result<QueryOutput, EngineError> {
        self.execute_as(self.register_statement(sql), sql).await
    }

    /// As `execute`, for a statement of the front end itself, which is not audited.
    pub async fn execute_own(&self, sql: &str) -> Result<QueryOutput, EngineError> {
        self.execute_as(self.register_internal(sql), sql).await
    }

    async fn execute_as(&self, entry: StatementEntry, sql: &str) -> Result<QueryOutput, EngineError> {
        let run = async {
            let start_lock = self.start_lock(entry.query()).await?;
            self.run_entered(&start_lock, &entry, sql).await
        };
        let done = run.instrument(entry.query().span.clone()).await;
        QueryOutput::of_entry(entry, done)
    }

    /// As `execute`, for a part of a statement that already holds the start lock.
    async fn execute_part(&self, start_lock: &StartLock<'_>, sql: &str) -> Result<(), EngineError> {
        let entry = self.register_statement(sql);
        let done = self.run_entered(start_lock, &entry, sql).instrument(entry.query().span.clone()).await;
        QueryOutput::of_entry(entry, done).map(drop)
    }

    /// While it is held, no other statement of the session is planned or started.
    ///
    /// **Invariant:** the holder does not call this again.
    pub(crate) async fn start_lock(&self, query: &Query) -> Result<StartLock<'_>, EngineError> {
        query.commit_guard.until_stopped(async { Ok(StartLock { _guard: self.start_lock.lock().await }) }).await
    }

    /// A statement of the open transaction failed.
    pub(crate) fn fail_transaction(&self) {
        self.transaction.fail(self.transaction.open_id());
    }

    async fn run_entered(&self, start_lock: &StartLock<'_>, entry: &StatementEntry, sql: &str) -> Result<QueryOutput, EngineError> {
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
            let ctx = self.begin(start_lock, sql, query)?;
            let done = query.commit_guard.until_stopped(deep(sql.len(), self.run(start_lock, &ctx))).await;
            drop(ctx);
            if let Err(error) = &done
                && self.is_tried_again(query, &mut retry, error).await?
            {
                continue;
            }
            return done.map_err(|error| run_error(sql, error));
        }
    }

    /// Whether to run a failed statement again. If not, for example because it was stopped meanwhile, its transaction has failed.
    pub(crate) async fn is_tried_again(&self, query: &Query, retry: &mut Retry, error: &EngineError) -> Result<bool, EngineError> {
        let again = query.commit_guard.until_stopped(async { Ok(retry.after(error).await) }).await;
        if !matches!(again, Ok(true)) {
            self.fail_transaction();
        }
        again
    }

    pub(crate) fn begin(&self, _: &StartLock<'_>, sql: &str, query: &Arc<Query>) -> Result<StatementContext, EngineError> {
        self.engine.audit.0.flush_for(sql);
        let definer = self.definer.lock().clone();
        let (context, catalog, access) = match &definer {
            None => (&self.context, &self.catalog, self.access.clone()),
            Some(definer) => (&definer.context, &definer.catalog, Some(Arc::clone(&definer.access))),
        };
        let catalog = catalog.for_statement(Some(&query.commit_guard))?;
        StatementContext::new(&self.engine, &catalog, access, context.state(), sql, query)
    }

    async fn run(&self, start_lock: &StartLock<'_>, ctx: &StatementContext) -> Result<QueryOutput, EngineError> {
        if let Some((cached, operators)) = ctx.repeated_query().await? {
            let stream = ctx.execute_physical(&cached.plan, operators)?;
            return Ok(QueryOutput::new(StatementKind::Query, stream, ctx.report_sources()));
        }
        let parsed = ctx.parsed().await?;
        if let Parsed::Statement(statement) = &parsed
            && let Some(done) = self.control(ctx, statement)?
        {
            return Ok(done);
        }
        self.check_not_failed()?;
        let statement = match parsed {
            Parsed::CopyFrom(copy) => return ctx.write_output(copy_from(ctx, *copy).await?),
            Parsed::CopyTo(copy) => {
                let copied = copy_to(ctx, *copy).await?;
                return Ok(QueryOutput::new(StatementKind::Write, copied, ctx.report_sources()));
            }
            Parsed::CreateTable(create, key) => {
                return match create_table(ctx, *create, key).await? {
                    Some(rows) => ctx.write_output(rows),
                    None => Ok(ctx.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::AlterTable(alter, key) => {
                alter_table(ctx, *alter, key).await?;
                return Ok(ctx.nothing(StatementKind::Ddl));
            }
            Parsed::Versions(statement) => {
                return match run_versions(ctx, statement).await? {
                    Some(rows) => ctx.rows(StatementKind::Query, rows),
                    None => Ok(ctx.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Access(statement) => {
                return match run_access(ctx, statement).await? {
                    Some(rows) => ctx.rows(StatementKind::Query, rows),
                    None => Ok(ctx.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Objects(statement) => {
                return match run_objects(ctx, statement).await? {
                    ObjectResult::Rows(rows) => ctx.rows(StatementKind::Query, rows),
                    ObjectResult::Changed(count) => ctx.write_output(count),
                    ObjectResult::Nothing => Ok(ctx.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Arrays(statement) => {
                return match run_arrays(ctx, statement).await? {
                    Some(cells) => ctx.write_output(cells),
                    None => Ok(ctx.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Functions(statement) => {
                match statement {
                    FunctionStatement::Create(create) => user_functions::create(ctx, *create).await?,
                    FunctionStatement::Drop(dropped) => user_functions::drop_function(ctx, dropped).await?,
                    FunctionStatement::Call { name, arguments } => {
                        return Box::pin(self.call(start_lock, ctx, &name, arguments, Vec::new())).await;
                    }
                }
                return Ok(ctx.nothing(StatementKind::Ddl));
            }
            Parsed::Maintenance(statement) => {
                return match run_maintenance(ctx, statement).await? {
                    Some(rows) => ctx.rows(StatementKind::Query, rows),
                    None => Ok(ctx.nothing(StatementKind::Ddl)),
                };
            }
            Parsed::Summarize(query) => ctx.summary(query).await?,
            Parsed::Statement(statement) => *statement,
        };
        let is_query = is_query(&statement);
        let statement = match sql::rewrite_show(&ctx.state, statement)? {
            Statement::CreateExternalTable(table) => {
                create_external(ctx, table).await?;
                return Ok(ctx.nothing(StatementKind::Ddl));
            }
            statement => statement,
        };
        if let Some(description) = described_table(ctx, &statement)? {
            return ctx.rows(StatementKind::Query, description);
        }
        if is_prepare(&statement) {
            ctx.function_parameters.describe();
        }
        ctx.choose_versions(&statement);
        let plan = ctx.plan(statement).await?;
        if is_query && !matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Dml(_)) {
            ctx.set_text_version();
        }
        self.run_plan(ctx, plan).await
    }

    /// The user of the session; `None` for the process itself, which has all rights.
    pub fn user(&self) -> Option<&str> {
        self.catalog.user()
    }
}

impl StatementContext {
    /// A query, or a write that runs as one.
    async fn query(&self, plan: &LogicalPlan) -> Result<QueryOutput, EngineError> {
        let kind = match plan {
            LogicalPlan::Dml(write) => {
                dml::check_writable(write)?;
                StatementKind::Write
            }
            _ => StatementKind::Query,
        };
        let stream = self.execute_plan(plan).await?;
        if dml::is_change(plan) {
            return self.write_output(dml::count(stream).await?);
        }
        Ok(QueryOutput::new(kind, stream, self.report_sources()))
    }
}

fn is_prepare(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(statement) if matches!(statement.as_ref(), ast::Statement::Prepare { .. }))
}
