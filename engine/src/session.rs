//! A session: one connection's settings and prepared statements.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use parking_lot::Mutex;
use pmem_store::Author;
use tokio::sync::MutexGuard;
use tracing::Instrument;

use crate::access::SessionAccess;
use crate::catalog::{self, CatalogHandle, StoreCatalog};
use crate::dml::{self, Retry};
use crate::execution::Running;
use crate::insert::Targets;
use crate::output::QueryOutput;
use crate::queries::{Entry, Query, StatementKind};
use crate::shared::EngineShared;
use crate::sql_planner::explain_error::run_error;
use crate::sql_planner::views::SqlViewPlanner;
use crate::statements::access::run_access;
use crate::statements::alter::alter_table;
use crate::statements::copy::copy_from;
use crate::statements::copy_to::copy_to;
use crate::statements::create_table::create_table;
use crate::statements::describe::described_table;
use crate::statements::external::create_external;
use crate::statements::maintenance::run_maintenance;
use crate::statements::versions::run_versions;
use crate::transactions::TransactionSlot;
use common::error::EngineError;
use common::names::CATALOG;
use common::stack::deep;
use semantics::functions;
use sql::{self, Parsed, StatementText};

mod append;
mod foreign;
mod import;
mod ingest;
mod insert;
mod mapped;
mod names;
mod owner;
mod parameters;
mod planner;
mod plans;
mod rows;
mod same;
mod tables;
mod template;
mod transactions;
mod volatile;
mod whole;

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

impl Session {
    /// Without `access` it has all rights.
    pub(crate) fn new(engine: Arc<EngineShared>, access: Option<Arc<SessionAccess>>) -> Result<Session, EngineError> {
        let snapshot = engine.store.snapshot()?;
        let owner = Owner::of(&engine, access.as_deref().map(Author::name));
        let transaction = engine.transactions.new_slot(access.clone().map(|access| access as Arc<dyn Author>));
        let catalog = StoreCatalog::new(Arc::clone(&engine), snapshot, Arc::clone(&transaction), access.clone(), Arc::new(SqlViewPlanner));
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
        QueryOutput::of_entry(entry, done)
    }

    /// As `execute`, of a part of the statement that has the session's turn.
    async fn execute_part(&self, sql: &str) -> Result<(), EngineError> {
        let entry = self.enter(sql);
        let done = self.run_entered(&entry, sql).instrument(entry.query().span.clone()).await;
        QueryOutput::of_entry(entry, done).map(drop)
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
        Running::new(&self.engine, &self.catalog, self.access.clone(), self.context.state(), sql, query)
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
}

fn is_prepare(statement: &Statement) -> bool {
    matches!(statement, Statement::Statement(statement) if matches!(statement.as_ref(), ast::Statement::Prepare { .. }))
}
