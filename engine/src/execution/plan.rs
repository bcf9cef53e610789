//! Plans a statement step by step. Slow steps own their data and run on planner threads (`planning/`).

use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::FutureExt;

use super::statement_context::StatementContext;
use crate::planning;
use crate::planning::plan_cache::StatementOrigin;
use crate::shared::EngineShared;
use crate::sql_planner::explain_error::explain_error;
use crate::sql_planner::plan::plan_statement;
use crate::sql_planner::summarize::summary_of;
use common::error::EngineError;
use sql::{self, Parsed};
use table::access::check_statement_kind;
use table::catalog::PrivateTable;

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
            let planned = optimized_and_planned(&self.engine, self.origin(), &self.state, plan);
            return Box::pin(planned).await.map_err(|error| self.located(error));
        }
        let (engine, state, catalog) = (Arc::clone(&self.engine), self.state.clone(), Arc::clone(&self.catalog));
        let (text, options, plan) = (self.sql.clone(), Arc::clone(&self.session_options), plan.clone());
        let planned = async move {
            let origin = StatementOrigin { sql: &text, user: catalog.user(), options: &options };
            let planned = Box::pin(optimized_and_planned(&engine, origin, &state, &plan)).await;
            planned.map_err(|error| explain_error(&text, &state, &catalog, error))
        };
        self.engine.on_planner_thread(self.catalog.user(), planned.boxed()).await
    }

    pub(crate) fn located(&self, error: DataFusionError) -> EngineError {
        explain_error(&self.sql, &self.state, &self.catalog, error)
    }
}

async fn optimized_and_planned(
    engine: &EngineShared,
    origin: StatementOrigin<'_>,
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    let optimized = engine.plan_cache.optimized(&origin, plan, || state.optimize(plan))?;
    state.query_planner().create_physical_plan(&optimized, state).await
}
