//! What a planned statement does: queries start, settings and prepared statements change the session.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{DdlStatement, EmptyRelation, Execute, Expr, LogicalPlan, Prepare, Statement as PlanStatement};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use pmem_store::StoreError;

use super::Session;
use super::parameters::{filled, parameter_fields};
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::parameters::Taken;
use crate::queries::StatementKind;
use crate::statements::ddl::run_ddl;
use crate::statements::describe::described;
use common::engine_settings::{EngineSettings, switches};
use common::error::EngineError;
use sql::{self, Parsed};

impl Session {
    pub(super) async fn run_plan(&self, ctx: &StatementContext, plan: LogicalPlan) -> Result<QueryOutput, EngineError> {
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
            LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => {
                let name = prepare.name.clone();
                let prepare = keepable(prepare, ctx.says_types()?, &ctx.function_parameters.taken())?;
                let prepared = self.change(ctx, PlanStatement::Prepare(prepare)).await?;
                self.prepared.lock().insert(name, ctx.sql.clone());
                Ok(prepared)
            }
            LogicalPlan::Statement(PlanStatement::Deallocate(deallocate)) => {
                let was_ours = self.prepared.lock().remove(&deallocate.name).is_some();
                match self.change(ctx, PlanStatement::Deallocate(deallocate)).await {
                    // It came along from another session and was not planned in this one yet.
                    Err(_) if was_ours => Ok(ctx.nothing(StatementKind::Set)),
                    done => done,
                }
            }
            LogicalPlan::Statement(PlanStatement::Execute(execute)) => self.execute_prepared(ctx, execute).await.map_err(without_place),
            LogicalPlan::Statement(other) => {
                Err(EngineError::unsupported(other.name().to_string(), Some("run it as a statement of its own")))
            }
            plan => ctx.query(&plan).await,
        }
    }

    /// What is granted on a schema is granted on its name. A commit takes it away with the name: one that has dropped
    /// the schema and made another of that name does not, and who was let into the old one would be in the new one.
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

    async fn execute_prepared(&self, ctx: &StatementContext, execute: Execute) -> Result<QueryOutput, EngineError> {
        let values = ctx.constants(&execute.parameters)?;
        if let Some(plan) = self.prepare_again(ctx, &execute.name, values).await? {
            return ctx.query(&plan).await;
        }
        let execute = LogicalPlan::Statement(PlanStatement::Execute(execute));
        let frame = self.context.execute_logical_plan(execute).await?;
        ctx.query(frame.logical_plan()).await
    }

    /// Tables are as of now in an EXECUTE, not as they were when it was prepared. The plan with its values, cast to the types of a PREPARE
    /// that says them. None where this session has no such text.
    async fn prepare_again(
        &self,
        ctx: &StatementContext,
        name: &str,
        values: Vec<ScalarAndMetadata>,
    ) -> Result<Option<LogicalPlan>, EngineError> {
        let text = self.prepared_text(name);
        let Some(Parsed::Statement(statement)) = text.map(|text| sql::parse(&ctx.state, &text)).transpose()? else {
            return Ok(None);
        };
        let says_types = says_types(&statement);
        ctx.function_parameters.fill(values.clone());
        let LogicalPlan::Statement(PlanStatement::Prepare(prepare)) = ctx.plan(*statement).await? else { return Ok(None) };
        let cast = |(at, value): (usize, ScalarAndMetadata)| match prepare.fields.get(at) {
            Some(field) if says_types => value.cast_storage_to(field.data_type()),
            _ => Ok(value),
        };
        let values = values.into_iter().enumerate().map(cast).collect::<datafusion::common::Result<Vec<_>>>()?;
        Ok(Some(filled(prepare, values, &ctx.function_parameters.taken())?))
    }

    /// A statement that changes the session alone.
    async fn change(&self, ctx: &StatementContext, statement: PlanStatement) -> Result<QueryOutput, EngineError> {
        self.context.execute_logical_plan(LogicalPlan::Statement(statement)).await?;
        let set = switches(self.context.state_ref().read().config().options());
        self.transaction.set_durability(EngineSettings::durability_of(&set.durability)?);
        Ok(ctx.nothing(StatementKind::Set))
    }

    /// The settings a session begins with.
    fn defaults(&self) -> Arc<ConfigOptions> {
        Arc::clone(self.engine.session_config().options())
    }
}

impl StatementContext {
    /// Whether it is a PREPARE with types for its parameters.
    fn says_types(&self) -> Result<bool, EngineError> {
        Ok(matches!(sql::parse(&self.state, &self.sql)?, Parsed::Statement(statement) if says_types(&statement)))
    }

    /// The values of an EXECUTE.
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

fn says_types(statement: &Statement) -> bool {
    let Statement::Statement(statement) = statement else { return false };
    matches!(statement.as_ref(), ast::Statement::Prepare { data_types, .. } if !data_types.is_empty())
}

/// An error of EXECUTE has its position in the text of PREPARE, and that text is not the one that is shown.
fn without_place(error: EngineError) -> EngineError {
    match error {
        EngineError::Sql { message, hint, .. } => EngineError::Sql { message, position: None, hint },
        other => other,
    }
}

/// What is kept is the text, which each EXECUTE plans anew: DataFusion would compare declared types with the parameters that it finds, none
/// of which is a table function's, and optimize a plan in which types do not agree yet.
fn keepable(prepare: Prepare, says_types: bool, taken: &Taken) -> Result<Prepare, EngineError> {
    let (declared, found) = (prepare.fields.len(), parameter_fields(&prepare, taken)?.len());
    if says_types && declared > found {
        let message = format!("PREPARE says the types of {declared} parameters, and its statement has {found}");
        return Err(EngineError::Sql { message, position: None, hint: None });
    }
    let schema = Arc::clone(prepare.input.schema());
    let input = Arc::new(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema }));
    Ok(Prepare { fields: Vec::new(), input, ..prepare })
}
