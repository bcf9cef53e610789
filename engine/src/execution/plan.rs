//! Plans a statement step by step. Slow steps own their data and run on planner threads (`planning/`).

use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::FutureExt;

use super::statement_context::StatementContext;
use crate::planning;
use crate::planning::operator_template::Tables;
use crate::planning::plan_cache::{CachedPlan, StatementOrigin};
use crate::sql_planner::explain_error::explain_error;
use crate::sql_planner::plan::plan_statement;
use crate::sql_planner::summarize::summary_of;
use common::engine_settings::{Consistency, switches};
use common::error::EngineError;
use sql::{self, Parsed};
use table::access::{Authorization, check_statement_kind};
use table::catalog::{PrivateTable, StoreTable};

impl StatementContext {
    /// The parsed statement. Its user is allowed to run statements of this kind.
    pub(crate) async fn parsed(&self) -> Result<Parsed, EngineError> {
        let parsed = match planning::is_long(&self.sql) {
            false => sql::parse(&self.state, &self.sql)?,
            true => {
                let (state, text) = (self.state.clone(), self.sql.clone());
                self.engine.on_planner_thread(self.catalog.user(), async move { sql::parse(&state, &text) }.boxed()).await?
            }
        };
        self.catalog.check(|authorization| check_statement_kind(authorization, &parsed))?;
        Ok(parsed)
    }

    /// The plan of any statement except for those that change rows; of these it is the plan of their query, which reads private tables.
    pub(crate) async fn plan_query(&self, statement: Statement, private: Vec<PrivateTable>) -> Result<LogicalPlan, EngineError> {
        if !planning::is_long(&self.sql) && !planning::stands_for_many(&statement, &self.catalog.snapshot()) {
            return Box::pin(plan_statement(&self.state, private, statement)).await.map_err(|error| self.located(error));
        }
        let (state, catalog, text) = (self.state.clone(), Arc::clone(&self.catalog), self.sql.clone());
        let planned = async move {
            let planned = plan_statement(&state, private, statement).await;
            planned.map_err(|error| explain_error(&text, &state, &catalog, error))
        };
        self.engine.on_planner_thread(self.catalog.user(), planned.boxed()).await
    }

    /// The plan with the types that it has at run time.
    pub(crate) async fn analyzed(&self, plan: &LogicalPlan) -> Result<LogicalPlan, EngineError> {
        let (state, plan) = (self.state.clone(), plan.clone());
        let is_small = !planning::is_long(&self.sql) && !planning::is_large(&plan);
        let analyze =
            async move { state.analyzer().execute_and_check(plan, state.config().options(), |_, _| {}).map_err(EngineError::from) };
        if is_small { analyze.await } else { self.engine.on_planner_thread(self.catalog.user(), analyze.boxed()).await }
    }

    /// The statement that SUMMARIZE of a query stands for.
    pub(crate) async fn summary(&self, query: Box<ast::Query>) -> Result<Statement, EngineError> {
        let statement = Statement::Statement(Box::new(ast::Statement::Query(query.clone())));
        let plan = self.analyzed(&self.plan(statement).await?).await?;
        summary_of(query, plan.schema().as_arrow())
    }

    /// The physical plan.
    pub(crate) async fn physical_plan(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, EngineError> {
        if !planning::is_long(&self.sql) && !planning::is_large(plan) {
            let origin = self.origin();
            let planned = self.engine.plan_cache.operators(&origin, plan, &self.state);
            return Box::pin(planned).await.map_err(|error| self.located(error));
        }
        let (engine, state, catalog) = (Arc::clone(&self.engine), self.state.clone(), Arc::clone(&self.catalog));
        let (text, options, plan) = (self.sql.clone(), Arc::clone(&self.session_options), plan.clone());
        let version = self.text_version.get().copied();
        let planned = async move {
            let origin = StatementOrigin { sql: &text, user: catalog.user(), options: &options, version };
            let planned = Box::pin(engine.plan_cache.operators(&origin, &plan, &state)).await;
            planned.map_err(|error| explain_error(&text, &state, &catalog, error))
        };
        self.engine.on_planner_thread(self.catalog.user(), planned.boxed()).await
    }

    /// The plan and the operators of a query whose text meant the same before: it is neither parsed nor resolved.
    pub(crate) async fn repeated_query(&self) -> Result<Option<(Arc<CachedPlan>, Arc<dyn ExecutionPlan>)>, EngineError> {
        let origin = StatementOrigin { version: self.store_version(), ..self.origin() };
        let Some(cached) = self.engine.plan_cache.repeated(&origin) else { return Ok(None) };
        let mut tables = Tables::new();
        for name in &cached.tables {
            let Ok(schema) = self.state.schema_for_ref(name.clone()) else { return Ok(None) };
            let provider = schema.table(name.table()).await?;
            let Some(provider) = provider.filter(|provider| provider.is::<StoreTable>()) else { return Ok(None) };
            tables.insert(name.clone(), provider);
        }
        self.engine.plan_cache.count_repeated();
        if !planning::is_long(&self.sql) && !planning::is_large(&cached.plan) {
            let operators = Box::pin(cached.operators(&tables, &self.state)).await.map_err(|error| self.located(error))?;
            return Ok(Some((cached, operators)));
        }
        let (state, text, catalog, plan) = (self.state.clone(), self.sql.clone(), Arc::clone(&self.catalog), Arc::clone(&cached));
        let planned = async move {
            let planned = Box::pin(plan.operators(&tables, &state)).await;
            planned.map_err(|error| explain_error(&text, &state, &catalog, error))
        };
        let operators = self.engine.on_planner_thread(self.catalog.user(), planned.boxed()).await?;
        Ok(Some((cached, operators)))
    }

    /// Called for a query whose plan depends on its text alone.
    pub(crate) fn set_text_version(&self) {
        // Rights on views and functions are checked when they are resolved.
        let reads_tables = |authorization: Arc<Authorization>| authorization.reads_nothing_but_tables();
        if let Some(version) = self.store_version().filter(|_| self.catalog.authorization().is_none_or(reads_tables)) {
            let _ = self.text_version.set(version);
        }
    }

    /// The version of the store; `None` if the meaning of a text depends on more of the session than its user and settings.
    fn store_version(&self) -> Option<u64> {
        let of_session = self.catalog.transaction().is_open()
            || !self.catalog.temporary().is_empty()
            || switches(self.state.config_options()).consistency() == Consistency::Eventual;
        (!of_session).then(|| self.catalog.snapshot().version())
    }

    pub(crate) fn located(&self, error: DataFusionError) -> EngineError {
        explain_error(&self.sql, &self.state, &self.catalog, error)
    }
}
