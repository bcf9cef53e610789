//! Runs planned statements: queries start, settings and prepared statements change the session.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    Analyze, DdlStatement, Execute, Explain, Expr, LogicalPlan, PlanType, Statement as PlanStatement, ToStringifiedPlan,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use pmem_store::StoreError;

use super::Session;
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::queries::StatementKind;
use crate::statements::ddl::run_ddl;
use crate::statements::describe::described;
use common::engine_settings::{EngineSettings, switches};
use common::error::EngineError;
use sql::{self, Parsed};

impl Session {
    pub(super) async fn run_plan(&self, ctx: &StatementContext, plan: LogicalPlan) -> Result<QueryOutput, EngineError> {
        if let Some(execute) = executed(&plan) {
            let prepared = self.prepared_plan(ctx, execute).await.map_err(without_place)?;
            if explained(&plan).is_some() && explained(&prepared).is_some() {
                return Err(EngineError::unsupported("EXPLAIN of a prepared EXPLAIN", Some("EXECUTE it without EXPLAIN")));
            }
            return ctx.query(&with_prepared(plan, prepared)).await.map_err(without_place);
        }
        if let Some(LogicalPlan::Statement(_)) = explained(&plan) {
            let hint = "EXPLAIN takes a query, an INSERT, UPDATE, DELETE or MERGE, or an EXECUTE";
            return Err(EngineError::unsupported("EXPLAIN of a statement that only changes the session", Some(hint)));
        }
        match plan {
            LogicalPlan::Ddl(ddl) => {
                self.check_not_made_anew(&ddl)?;
                run_ddl(ctx, ddl)?;
                Ok(ctx.nothing(StatementKind::Ddl))
            }
            LogicalPlan::DescribeTable(table) => ctx.rows(StatementKind::Query, described(&table.schema, None)?),
            LogicalPlan::Statement(PlanStatement::SetVariable(set)) => {
                let set = sql::set_variable(set, ctx.state.config().options(), &self.defaults())?;
                self.change(ctx, PlanStatement::SetVariable(set)).await
            }
            LogicalPlan::Statement(PlanStatement::ResetVariable(reset)) => {
                let reset = sql::reset_variable(reset, ctx.state.config().options(), &self.defaults())?;
                self.change(ctx, reset.map_or_else(PlanStatement::ResetVariable, PlanStatement::SetVariable)).await
            }
            // Only the text is stored, and each EXECUTE plans it anew.
            LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => match self.prepared.lock().entry(prepare.name) {
                Entry::Occupied(entry) => Err(wrong_name(entry.key(), "already exists")),
                Entry::Vacant(entry) => {
                    entry.insert(ctx.sql.clone());
                    Ok(ctx.nothing(StatementKind::Set))
                }
            },
            LogicalPlan::Statement(PlanStatement::Deallocate(deallocate)) => match self.prepared.lock().remove(&deallocate.name) {
                Some(_) => Ok(ctx.nothing(StatementKind::Set)),
                None => Err(wrong_name(&deallocate.name, "does not exist")),
            },
            LogicalPlan::Statement(other) => {
                Err(EngineError::unsupported(other.name().to_string(), Some("run it as a statement of its own")))
            }
            plan => ctx.query(&plan).await,
        }
    }

    /// Grants on a schema are stored by its name. The commit of a DROP SCHEMA removes them, but not if the transaction also creates a
    /// schema of the same name: then the grantees of the old one would have access to the new one.
    fn check_not_made_anew(&self, ddl: &DdlStatement) -> Result<(), EngineError> {
        let DdlStatement::CreateCatalogSchema(command) = ddl else { return Ok(()) };
        let (Some(base), Some(now)) = (self.transaction.base(), self.transaction.snapshot()) else { return Ok(()) };
        let name = command.schema_name.split_once('.').map_or(command.schema_name.as_str(), |(_, name)| name);
        let was_dropped = base.has_namespace(name) && !now.has_namespace(name);
        let access = self.engine.store.access();
        match was_dropped && (access.principals().next().is_some() || access.grants().next().is_some()) {
            true => {
                let what = "this transaction has dropped a schema of that name, and what was granted on it would be granted on the new one: \
                            end the transaction before";
                Err(StoreError::Refused(what.into()).into())
            }
            false => Ok(()),
        }
    }

    pub(super) fn prepared_text(&self, name: &str) -> Option<String> {
        self.prepared.lock().get(name).cloned()
    }

    /// EXECUTE sees the current tables, not those at the time of PREPARE.
    async fn prepared_plan(&self, ctx: &StatementContext, execute: &Execute) -> Result<LogicalPlan, EngineError> {
        let text = self.prepared_text(&execute.name).ok_or_else(|| wrong_name(&execute.name, "does not exist"))?;
        let values = ctx.constants(&execute.parameters)?;
        let Parsed::Statement(statement) = sql::parse(&ctx.state, &text)? else {
            return Err(EngineError::internal("what was prepared is no PREPARE"));
        };
        ctx.function_parameters.fill(values.clone());
        ctx.choose_versions(&statement);
        ctx.prepared(*statement).await?.filled(values)
    }

    /// A statement that only changes the session.
    async fn change(&self, ctx: &StatementContext, statement: PlanStatement) -> Result<QueryOutput, EngineError> {
        self.context.execute_logical_plan(LogicalPlan::Statement(statement)).await?;
        let set = switches(self.context.state_ref().read().config().options());
        self.transaction.set_durability(EngineSettings::durability_of(&set.durability)?);
        Ok(ctx.nothing(StatementKind::Set))
    }

    /// The initial settings of a session.
    fn defaults(&self) -> Arc<ConfigOptions> {
        Arc::clone(self.engine.session_config().options())
    }
}

impl StatementContext {
    /// The parameter values of an EXECUTE.
    fn constants(&self, parameters: &[Expr]) -> Result<Vec<ScalarAndMetadata>, EngineError> {
        let context = SimplifyContext::builder()
            .with_config_options(Arc::clone(self.state.config_options()))
            .with_query_execution_start_time(self.state.execution_props().query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        let constant = |(at, parameter): (usize, &Expr)| match simplifier.simplify(parameter.clone()) {
            Ok(Expr::Literal(value, metadata)) => Ok(ScalarAndMetadata::new(value, metadata)),
            Err(error) => Err(error.into()),
            Ok(_) => {
                let message = format!("value {} of EXECUTE is no constant", at + 1);
                Err(EngineError::Sql {
                    message,
                    position: None,
                    hint: Some("the values of EXECUTE are constants, such as 3 or 1 + 2".into()),
                })
            }
        };
        parameters.iter().enumerate().map(constant).collect()
    }
}

/// The EXECUTE that this plan is, or explains.
fn executed(plan: &LogicalPlan) -> Option<&Execute> {
    match plan {
        LogicalPlan::Statement(PlanStatement::Execute(execute)) => Some(execute),
        plan => executed(explained(plan)?),
    }
}

fn explained(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Explain(explain) => Some(explain.plan.as_ref()),
        LogicalPlan::Analyze(analyze) => Some(analyze.input.as_ref()),
        _ => None,
    }
}

/// EXPLAIN EXECUTE explains the prepared statement.
fn with_prepared(plan: LogicalPlan, prepared: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Explain(explain) => {
            let stringified_plans = vec![prepared.to_stringified(PlanType::InitialLogicalPlan)];
            LogicalPlan::Explain(Explain { plan: Arc::new(prepared), stringified_plans, ..explain })
        }
        LogicalPlan::Analyze(analyze) => LogicalPlan::Analyze(Analyze { input: Arc::new(prepared), ..analyze }),
        _ => prepared,
    }
}

fn wrong_name(name: &str, problem: &str) -> EngineError {
    EngineError::Sql { message: format!("Prepared statement '{name}' {problem}"), position: None, hint: None }
}

/// An error of EXECUTE has its position in the text of PREPARE, which is not shown. So the position is removed.
fn without_place(error: EngineError) -> EngineError {
    match error {
        EngineError::Sql { message, hint, .. } => EngineError::Sql { message, position: None, hint },
        other => other,
    }
}
