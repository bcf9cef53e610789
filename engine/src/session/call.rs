//! CALL: the statements of a procedure, all of them or none. The rows of the last one are the result.

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::{StreamExt, TryStreamExt};

use super::batch_execution::{RollbackOnDrop, RollbackOnly};
use super::parameters::{Description, takes_parameters};
use super::{Session, StartLock};
use crate::execution::StatementContext;
use crate::output::QueryOutput;
use crate::parameters::values_of;
use crate::queries::StatementKind;
use crate::statements::functions::{malformed, statement_of};
use common::error::EngineError;
use common::messages::counted;
use common::stack::deep;
use common::type_names::qualified;
use pmem_store::StoreError;
use sql::Parsed;
use sql::functions::{FunctionBody, FunctionDefinition, StatementPart, call_query};
use sql::walk::sql_statement;
use table::catalog::UserFunction;

/// The result is kept until the transaction is committed, so that an error in it takes all back.
const RESULT_BYTES_MAX: usize = 256 << 20;

/// One statement of a procedure and the values for its parameters.
struct Part {
    text: String,
    values: Vec<ScalarAndMetadata>,
    is_query: bool,
}

impl Session {
    /// `values` are those of the parameters of the CALL itself.
    pub(super) async fn call(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        name: &TableReference,
        arguments: Vec<ast::Expr>,
        values: Vec<ScalarAndMetadata>,
    ) -> Result<QueryOutput, EngineError> {
        let definition = procedure(ctx, name, arguments.len())?;
        let query = call_statement(&definition, arguments)?;
        let plan = match values.is_empty() {
            true => ctx.plan(query).await?,
            false => ctx.prepared(query).await?.filled(values)?,
        };
        let rows: Vec<RecordBatch> = ctx.execute_plan(&plan).await?.try_collect().await?;
        let row = rows.iter().find(|rows| rows.num_rows() > 0).ok_or_else(|| EngineError::internal("a call without values"))?;
        let parts = parts_of(ctx, &definition, &values_of(row, 0)?)?;
        if self.is_in_transaction() {
            let cut_off = RollbackOnly(self);
            let done = self.run_parts(start_lock, ctx, parts).await?;
            std::mem::forget(cut_off);
            return Ok(done);
        }
        self.begin_transaction(false)?;
        // It also takes effect if the caller is dropped, or if the commit is stopped.
        let unfinished = RollbackOnDrop(self);
        let done = self.run_parts(start_lock, ctx, parts).await?;
        self.commit_transaction(ctx).map_err(|error| as_conflict(name, error))?;
        std::mem::forget(unfinished);
        Ok(done)
    }

    async fn run_parts(&self, start_lock: &StartLock<'_>, ctx: &StatementContext, parts: Vec<Part>) -> Result<QueryOutput, EngineError> {
        let (mut last, count) = (None, parts.len());
        for (at, part) in parts.into_iter().enumerate() {
            let part_ctx = self.begin(start_lock, &part.text, &ctx.query)?;
            let running = async {
                match part.values.is_empty() {
                    true => self.run(start_lock, &part_ctx).await,
                    false => self.run_with(start_lock, &part_ctx, part.values).await,
                }
            };
            let output = deep(part.text.len(), Box::pin(running)).await;
            let is_result = at + 1 == count && part.is_query;
            let done = async { collected(output?, is_result).await };
            last = Some(done.await.map_err(|error| in_part(at, &part.text, error))?);
        }
        let Some((kind, schema, rows)) = last else { return Ok(ctx.nothing(StatementKind::Write)) };
        let stream = RecordBatchStreamAdapter::new(schema, futures::stream::iter(rows.into_iter().map(Ok)));
        Ok(QueryOutput::done(kind, Box::pin(stream), ctx.report_sources()))
    }

    /// A CALL, described without running it: by its last statement.
    pub(super) async fn described_call(
        &self,
        start_lock: &StartLock<'_>,
        ctx: &StatementContext,
        name: &TableReference,
        arguments: Vec<ast::Expr>,
    ) -> Result<Description, EngineError> {
        let definition = procedure(ctx, name, arguments.len())?;
        let prepared = ctx.prepared(call_statement(&definition, arguments)?).await?;
        let parameters = std::sync::Arc::new(Schema::new(prepared.parameters));
        let nulls = vec![ScalarAndMetadata::from(datafusion::common::ScalarValue::Null); definition.parameters.len()];
        let Some(last) = parts_of(ctx, &definition, &nulls)?.pop() else {
            return Err(EngineError::internal("a procedure without statements"));
        };
        let part_ctx = self.begin(start_lock, &last.text, &ctx.query)?;
        let described = Box::pin(self.described(start_lock, &part_ctx)).await?;
        Ok(Description { parameters, ..described })
    }
}

/// The definition of a procedure with so many parameters. The user may call it.
fn procedure(ctx: &StatementContext, name: &TableReference, count: usize) -> Result<FunctionDefinition, EngineError> {
    let refused = |message: String, hint: Option<String>| Err(EngineError::Sql { message, position: None, hint });
    let Some(procedure) = UserFunction::named(&ctx.catalog.snapshot(), ctx.state.config_options(), name)? else {
        return refused(format!("procedure {name} does not exist"), Some("system.functions lists functions and procedures".into()));
    };
    let full_name = qualified(&procedure.object.namespace, &procedure.object.name);
    if !procedure.is_procedure() {
        return refused(format!("{full_name} is a function: a query calls it"), None);
    }
    procedure.check_execute(&ctx.catalog)?;
    let there: Vec<String> = procedure.definitions.iter().map(FunctionDefinition::signature).collect();
    match procedure.definitions.into_iter().find(|definition| definition.parameters.len() == count) {
        Some(definition) => Ok(definition),
        None => refused(format!("{full_name} is called with {}, and there is {}", counted(count, "argument"), there.join(" and ")), None),
    }
}

fn call_statement(definition: &FunctionDefinition, arguments: Vec<ast::Expr>) -> Result<Statement, EngineError> {
    Ok(statement_of(call_query(&definition.parameters, arguments).map_err(malformed)?))
}

fn parts_of(ctx: &StatementContext, definition: &FunctionDefinition, values: &[ScalarAndMetadata]) -> Result<Vec<Part>, EngineError> {
    let FunctionBody::Procedure { statements } = &definition.body else { return Err(EngineError::internal("this is no procedure")) };
    let names: Vec<&str> = definition.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let types: Vec<String> = definition.parameters.iter().map(|parameter| parameter.data_type.to_string()).collect();
    let part = |text: &String| {
        let plain = |is_query| Part { text: text.clone(), values: Vec::new(), is_query };
        let Parsed::Statement(statement) = sql::parse(&ctx.state, text)? else { return Ok(plain(true)) };
        let Some(inner) = sql_statement(&statement).filter(|_| takes_parameters(&statement)) else { return Ok(plain(true)) };
        let StatementPart { text, used } = StatementPart::of(text, inner, definition.name.table(), &names, &types);
        Ok(Part { text, values: used.into_iter().map(|at| values[at].clone()).collect(), is_query: true })
    };
    statements.iter().map(part).collect()
}

/// The rows of a statement of a procedure, which runs to its end; those of a query that is not the last one are for nobody.
async fn collected(mut output: QueryOutput, is_result: bool) -> Result<(StatementKind, SchemaRef, Vec<RecordBatch>), EngineError> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = output.next().await {
        let batch = batch?;
        if !is_result && output.kind() == StatementKind::Query {
            continue;
        }
        let sizes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
        bytes += sizes.sum::<Result<usize, _>>().map_err(datafusion::common::DataFusionError::from)?;
        if bytes > RESULT_BYTES_MAX {
            let message = format!("the last query of the procedure returns more than {RESULT_BYTES_MAX} bytes");
            let hint = Some("write its rows into a table, and read that".to_string());
            return Err(EngineError::Sql { message, position: None, hint });
        }
        rows.push(batch);
    }
    Ok((output.kind(), output.schema(), rows))
}

/// What a commit refuses, others have committed since the call began, as a key that is there twice by now. If the call runs again, its own
/// statements find it.
fn as_conflict(procedure: &TableReference, error: EngineError) -> EngineError {
    match error {
        EngineError::Store(StoreError::Refused(_)) => StoreError::Conflict { table: procedure.to_string() }.into(),
        error => error,
    }
}

/// The error of a statement in a procedure says which one it is.
fn in_part(at: usize, text: &str, error: EngineError) -> EngineError {
    match error {
        EngineError::Sql { message, hint, .. } => {
            let line = text.lines().next().unwrap_or_default();
            EngineError::Sql { message: format!("{message} (statement {} of the procedure: {line})", at + 1), position: None, hint }
        }
        error => error,
    }
}
