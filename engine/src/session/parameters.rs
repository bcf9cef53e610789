//! Statements with parameters: their description, and how they run with values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Analyze, Explain, Expr, LogicalPlan, PlanType, Prepare, Statement as PlanStatement, ToStringifiedPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Ident};
use futures::FutureExt;
use tracing::Instrument;

use super::{Session, StartLock};
use crate::dml::{Retry, is_change};
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::parameters::{ArgumentParameters, fitted, parameter_number, parameter_numbers, values_of, with_columns_of_sets, wrong_count};
use crate::queries::{Query, StatementKind, is_kill};
use crate::statements::arrays;
use crate::statements::describe::described_table;
use crate::statements::versions::listed_versions;
use crate::statements::{access, maintenance, objects};
use common::error::EngineError;
use common::stack::deep;
use sql::walk::{sql_statement, sql_statement_mut};
use sql::{self, FunctionStatement, PARAMETERS_MAX, Parsed};

/// The parameters and the result columns of a statement.
#[derive(Debug, Clone)]
pub struct Description {
    pub kind: StatementKind,
    /// The columns of its rows; none if it is not a query.
    pub schema: SchemaRef,
    /// `$1`, `$2`, … in order, with the types that the statement needs; Null if any type will do.
    pub parameters: SchemaRef,
}

impl Description {
    pub(super) fn without_rows(kind: StatementKind) -> Description {
        let none = Arc::new(Schema::empty());
        Description { kind, schema: Arc::clone(&none), parameters: none }
    }

    pub(super) fn of_rows(schema: SchemaRef) -> Description {
        Description { schema, ..Description::without_rows(StatementKind::Query) }
    }

    fn of_plan(plan: &LogicalPlan) -> Description {
        match changes_rows(plan) {
            true => Description::without_rows(StatementKind::Write),
            false => Description::of_rows(Arc::clone(plan.schema().inner())),
        }
    }
}

impl Session {
    /// The description of a statement, without running it.
    pub async fn describe(&self, sql: &str) -> Result<Description, EngineError> {
        self.described_as(sql, &Query::unregistered()).boxed().await
    }

    /// The description of a statement that a user is about to run: if it is refused, that is audited as if it had run.
    pub async fn describe_to_run(&self, sql: &str) -> Result<Description, EngineError> {
        let query = self.unregistered(sql);
        let described = self.described_as(sql, &query).instrument(query.span.clone()).boxed().await;
        self.record_failed_describe(query, described)
    }

    async fn described_as(&self, sql: &str, query: &Arc<Query>) -> Result<Description, EngineError> {
        let start_lock = self.start_lock(query).await?;
        let ctx = self.begin(&start_lock, sql, query)?;
        self.in_time(deep(sql.len(), self.described(&start_lock, &ctx))).await
    }

    /// Runs a description within the statement timeout.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
        match self.statement_timeout() {
            None => work.await,
            Some(limit) => match tokio::time::timeout(limit, work).await {
                Ok(done) => done,
                Err(_) => Err(EngineError::TimedOut { limit_ms: limit.as_millis() as u64 }),
            },
        }
    }

    /// As `execute`, with the values of a row of `parameters` for `$1`, `$2`, … in the order of its columns.
    pub async fn execute_with(&self, sql: &str, parameters: &RecordBatch, row: usize) -> Result<QueryOutput, EngineError> {
        if parameters.num_columns() == 0 {
            return self.execute(sql).await;
        }
        let entry = self.register_statement(sql);
        let run = async {
            let start_lock = self.start_lock(entry.query()).await?;
            self.execute_row(&start_lock, entry.query(), sql, parameters, row).await
        };
        let done = run.instrument(entry.query().span.clone()).await;
        QueryOutput::of_entry(entry, done)
    }

    /// As part of the statement `query`, which holds the start lock.
    pub(super) async fn execute_row(
        &self,
        start_lock: &StartLock<'_>,
        query: &Arc<Query>,
        sql: &str,
        parameters: &RecordBatch,
        row: usize,
    ) -> Result<QueryOutput, EngineError> {
        let values = values_of(parameters, row)?;
        let mut retry = Retry::new(!self.transaction.is_open());
        loop {
            let ctx = self.begin(start_lock, sql, query)?;
            let done = query.commit_guard.until_stopped(deep(sql.len(), self.run_with(start_lock, &ctx, values.clone()))).await;
            drop(ctx);
            let error = match done {
                Ok(output) => return Ok(output),
                Err(error) => error,
            };
            if !self.is_tried_again(query, &mut retry, &error).await? {
                return Err(error);
            }
        }
    }

    pub(super) async fn described(&self, start_lock: &StartLock<'_>, ctx: &StatementContext) -> Result<Description, EngineError> {
        ctx.function_parameters.describe();
        let without_rows = Description::without_rows;
        let statement = match ctx.parsed().await? {
            Parsed::CopyFrom(_) | Parsed::CopyTo(_) => return Ok(without_rows(StatementKind::Write)),
            Parsed::CreateTable(create, _) if create.query.is_some() => return Ok(without_rows(StatementKind::Write)),
            Parsed::CreateTable(..) | Parsed::AlterTable(..) => return Ok(without_rows(StatementKind::Ddl)),
            Parsed::Access(statement) => {
                return Ok(match access::result_schema(&statement) {
                    Some(schema) => Description::of_rows(schema),
                    None => without_rows(StatementKind::Ddl),
                });
            }
            Parsed::Objects(statement) => {
                return Ok(match objects::result_schema(&statement) {
                    Some(schema) => Description::of_rows(schema),
                    None if objects::counts(&statement) => without_rows(StatementKind::Write),
                    None => without_rows(StatementKind::Ddl),
                });
            }
            Parsed::Arrays(statement) => {
                return Ok(without_rows(if arrays::counts(&statement) { StatementKind::Write } else { StatementKind::Ddl }));
            }
            Parsed::Functions(FunctionStatement::Call { name, arguments }) => {
                return Box::pin(self.described_call(start_lock, ctx, &name, arguments)).await;
            }
            Parsed::Functions(_) => return Ok(without_rows(StatementKind::Ddl)),
            Parsed::Maintenance(statement) => {
                return Ok(match maintenance::result_schema(&statement) {
                    Some(schema) => Description::of_rows(schema),
                    None => without_rows(StatementKind::Ddl),
                });
            }
            Parsed::Versions(statement) => {
                let listing = listed_versions(ctx, &statement)?;
                return Ok(match listing {
                    Some(rows) => Description::of_rows(rows.schema()),
                    None => without_rows(StatementKind::Ddl),
                });
            }
            Parsed::Summarize(query) => ctx.summary(query).await?,
            Parsed::Statement(statement) => sql::rewrite_show(&ctx.state, *statement)?,
        };
        if Session::is_control(&statement) {
            return Ok(without_rows(StatementKind::Transaction));
        }
        if matches!(statement, Statement::CreateExternalTable(_)) || is_kill(&statement) {
            return Ok(without_rows(StatementKind::Ddl));
        }
        if let Some(rows) = described_table(ctx, &statement)? {
            return Ok(Description::of_rows(rows.schema()));
        }
        if !takes_parameters(&statement) {
            return Ok(match ctx.plan(statement).await? {
                LogicalPlan::Ddl(_) => without_rows(StatementKind::Ddl),
                LogicalPlan::Statement(PlanStatement::Execute(execute)) => match self.prepared_text(&execute.name) {
                    Some(text) => self.described_prepared(ctx, &text).await?,
                    None => without_rows(StatementKind::Set),
                },
                LogicalPlan::Statement(_) => without_rows(StatementKind::Set),
                plan => Description::of_plan(&plan),
            });
        }
        let prepared = ctx.prepared(statement).await?;
        Ok(Description { parameters: Arc::new(Schema::new(prepared.parameters)), ..Description::of_plan(&prepared.plan) })
    }

    /// The description of EXECUTE, from the text of its PREPARE.
    async fn described_prepared(&self, ctx: &StatementContext, text: &str) -> Result<Description, EngineError> {
        let Parsed::Statement(statement) = sql::parse(&ctx.state, text)? else {
            return Ok(Description::without_rows(StatementKind::Set));
        };
        Ok(Description::of_plan(&ctx.prepared(*statement).await?.plan))
    }

    pub(super) async fn run_with(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        values: Vec<ScalarAndMetadata>,
    ) -> Result<QueryOutput, EngineError> {
        self.check_not_failed()?;
        let statement = match ctx.parsed().await? {
            Parsed::Statement(statement) if takes_parameters(&statement) => *statement,
            Parsed::Functions(FunctionStatement::Call { name, arguments }) => {
                return Box::pin(self.call(start_lock, ctx, &name, arguments, values)).await;
            }
            _ => {
                let hint = Some("queries, statements that change rows, and EXPLAIN of these take them; write the values into others");
                return Err(EngineError::unsupported("a statement of this kind with parameters", hint));
            }
        };
        ctx.function_parameters.fill(values.clone());
        ctx.choose_versions(&statement);
        ctx.query(&ctx.prepared(statement).await?.filled(values)?).await
    }
}

/// A plan with parameters.
pub(super) struct Prepared {
    pub plan: LogicalPlan,
    /// From `$1` to the last one, whether or not each of them occurs; Null if any type will do.
    pub parameters: Vec<FieldRef>,
    /// The types that a PREPARE declares, for the first parameters.
    declared: Vec<FieldRef>,
}

impl Prepared {
    /// For a foreign plan, which has no text.
    pub fn of_plan(plan: LogicalPlan) -> Result<Prepared, EngineError> {
        Ok(Prepared { parameters: parameter_fields(&plan, &[], ArgumentParameters::new(), 0)?, plan, declared: Vec::new() })
    }

    /// The plan with values for its parameters; parameters of table functions have got theirs before.
    pub fn filled(self, values: Vec<ScalarAndMetadata>) -> Result<LogicalPlan, EngineError> {
        if self.parameters.len() != values.len() {
            return Err(wrong_count(self.parameters.len(), values.len()));
        }
        let is_query = !changes_rows(explained(&self.plan));
        let values = values.into_iter().zip(&self.parameters).enumerate().map(|(at, (value, field))| match self.declared.get(at) {
            Some(declared) => fitted(value.cast_storage_to(declared.data_type())?, field, is_query),
            None => fitted(value, field, is_query),
        });
        let values = ParamValues::List(values.collect::<Result<Vec<_>, EngineError>>()?);
        Ok(match with_columns_of_sets(self.plan)?.replace_params_with_values(&values)? {
            LogicalPlan::Explain(explain) => {
                let stringified_plans = vec![explain.plan.to_stringified(PlanType::InitialLogicalPlan)];
                LogicalPlan::Explain(Explain { stringified_plans, ..explain })
            }
            plan => plan,
        })
    }
}

/// The plan inside of an EXPLAIN; any other plan itself.
fn explained(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Explain(explain) => &explain.plan,
        LogicalPlan::Analyze(analyze) => &analyze.input,
        plan => plan,
    }
}

impl StatementContext {
    /// Planned as by PREPARE, so that DataFusion infers the types of parameters from their context.
    pub(super) async fn prepared(&self, mut statement: Statement) -> Result<Prepared, EngineError> {
        // The statement inside of an EXPLAIN is prepared, because PREPARE cannot express the options of EXPLAIN.
        make_prepare(sql_statement_mut(&mut statement).ok_or_else(|| EngineError::internal("no SQL statement"))?);
        let (has_types, used) = (says_types(&statement), last_parameter(&statement));
        let (fields, plan) = match self.plan(statement).await? {
            LogicalPlan::Explain(explain) => {
                let Prepare { fields, input: plan, .. } = prepare_in(Arc::unwrap_or_clone(explain.plan))?;
                (fields, LogicalPlan::Explain(Explain { plan, ..explain }))
            }
            LogicalPlan::Analyze(analyze) => {
                let Prepare { fields, input, .. } = prepare_in(Arc::unwrap_or_clone(analyze.input))?;
                (fields, LogicalPlan::Analyze(Analyze { input, ..analyze }))
            }
            plan => {
                let Prepare { fields, input, .. } = prepare_in(plan)?;
                (fields, Arc::unwrap_or_clone(input))
            }
        };
        // Without declared types, the plan has those that DataFusion has inferred.
        let declared = if has_types { fields } else { Vec::new() };
        let parameters = parameter_fields(&plan, &declared, self.function_parameters.parameters(), used)?;
        Ok(Prepared { plan, parameters, declared })
    }
}

fn make_prepare(statement: &mut ast::Statement) {
    if !matches!(statement, ast::Statement::Prepare { .. }) {
        let inner = Box::new(std::mem::replace(statement, ast::Statement::UnlockTables));
        *statement = ast::Statement::Prepare { name: Ident::with_quote('"', "statement"), data_types: Vec::new(), statement: inner };
    }
}

fn prepare_in(plan: LogicalPlan) -> Result<Prepare, EngineError> {
    match plan {
        LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => Ok(prepare),
        other => Err(EngineError::internal(format!("{} is no prepared statement", other.display()))),
    }
}

/// Whether it is a PREPARE with types for its parameters.
fn says_types(statement: &Statement) -> bool {
    let Statement::Statement(statement) = statement else { return false };
    matches!(statement.as_ref(), ast::Statement::Prepare { data_types, .. } if !data_types.is_empty())
}

/// The highest number of a parameter in the text; 0 if there is none.
fn last_parameter(statement: &Statement) -> usize {
    sql_statement(statement).and_then(|statement| parameter_numbers(statement).last().copied()).unwrap_or(0)
}

fn changes_rows(plan: &LogicalPlan) -> bool {
    is_change(plan) || matches!(plan, LogicalPlan::Dml(_))
}

/// Queries and statements that change rows, and EXPLAIN of these.
pub(super) fn takes_parameters(statement: &Statement) -> bool {
    use ast::Statement as Sql;
    matches!(sql_statement(statement), Some(Sql::Query(_) | Sql::Insert(_) | Sql::Update(_) | Sql::Delete(_) | Sql::Merge(_)))
}

/// The parameters of the plan, and `argument_parameters` of table functions, which are in no plan. A text may use, or a PREPARE declare,
/// parameters that are not in the plan.
fn parameter_fields(
    plan: &LogicalPlan,
    declared: &[FieldRef],
    argument_parameters: ArgumentParameters,
    used: usize,
) -> Result<Vec<FieldRef>, EngineError> {
    let mut fields = plan.get_parameter_fields()?;
    for (name, field) in argument_parameters {
        fields.entry(name).or_default().get_or_insert(field);
    }
    let mut last = used.max(declared.len());
    for name in fields.keys() {
        // SQL was checked before; a foreign plan may use any number.
        let Some(number) = parameter_number(name).filter(|number| (1..=PARAMETERS_MAX).contains(number)) else {
            return Err(EngineError::unsupported(format!("the parameter {name}"), Some("write $1, $2, … or ?")));
        };
        last = last.max(number);
    }
    let stated = stated_types(plan)?;
    let field = |number: usize| {
        let name = format!("${number}");
        match fields.remove(&name).flatten().or_else(|| declared.get(number - 1).cloned()).or_else(|| stated.get(&name).cloned()) {
            // The field of a tensor includes its shape.
            Some(field) => Arc::new(field.as_ref().clone().with_name(name).with_nullable(true)),
            None => Arc::new(Field::new(name, DataType::Null, true)),
        }
    };
    Ok((1..=last).map(field).collect())
}

/// Types that DataFusion does not infer: a row count is a BIGINT, and the operand of a cast has the target type.
fn stated_types(plan: &LogicalPlan) -> Result<HashMap<String, FieldRef>, EngineError> {
    let mut types = HashMap::new();
    let count: FieldRef = Arc::new(Field::new("", DataType::Int64, true));
    let mut state = |expression: &Expr, field: &FieldRef| {
        if let Expr::Placeholder(placeholder) = expression {
            types.entry(placeholder.id.clone()).or_insert_with(|| Arc::clone(field));
        }
    };
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Limit(limit) = node {
            limit.skip.iter().chain(&limit.fetch).for_each(|rows| state(rows, &count));
        }
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                match part {
                    Expr::Cast(cast) => state(&cast.expr, &cast.field),
                    Expr::TryCast(cast) => state(&cast.expr, &cast.field),
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(types)
}
