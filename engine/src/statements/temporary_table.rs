//! CREATE VOLATILE TABLE, with a query or without; `SELECT … INTO VOLATILE` is said so too.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::StreamExt;

use super::create_table::{check_names, table_schema};
use crate::constraints::column_clauses;
use crate::execution::StatementContext;
use crate::sql_planner::plan::with_column_list;
use crate::temporary::ChunkBuilder;
use common::error::EngineError;
use common::names::{CATALOG, TEMP};
use common::report::ReportCollector;
use sql::column_list::TableClauses;
use sql::sql_types::type_metadata;

/// The rows that it has, None where the statement has no query.
///
/// It is no part of a transaction: what was made in one stays when that is rolled back.
pub async fn create_temporary(
    ctx: &StatementContext,
    mut create: ast::CreateTable,
    given: TableClauses,
) -> Result<Option<u64>, EngineError> {
    let declared = declared_columns(&mut create, &given)?;
    create.temporary = false;
    let has_query = create.query.is_some();
    let statement = Statement::Statement(Box::new(ast::Statement::CreateTable(create)));
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut command)) = ctx.plan(statement).await? else {
        return Err(EngineError::unsupported("this form of CREATE VOLATILE TABLE", None));
    };
    command.input = with_column_list(command.input, &given.names)?;
    let name = own_name(&command.name)?;
    let tables = ctx.catalog.temporary();
    if command.if_not_exists && tables.get(&name).is_some() {
        return Ok(None);
    }
    tables.check_new(&name, command.or_replace)?;
    if !has_query {
        let planned = table_schema(command.input.schema().as_arrow(), None)?;
        tables.create(&name, kept_schema(&planned, &planned, &declared), None, command.or_replace)?;
        return Ok(None);
    }
    let rows = collect_rows(ctx, &name, command.input.as_ref().clone(), &declared).await?;
    let (schema, count) = (rows.schema(), rows.row_count() as u64);
    let rows = rows.finish()?;
    // Who ends the statement comes before this, or too late.
    ctx.commit_guard().begin_commit()?;
    let created = tables.create(&name, schema, Some(rows), command.or_replace);
    if created.is_err() {
        ctx.commit_guard().abandon_commit();
    }
    created.map(|()| Some(count))
}

/// What is said of a column.
struct DeclaredTable {
    not_null: bool,
    /// What its type says besides the data type.
    metadata: HashMap<String, String>,
}

/// By column, where columns are declared. Nothing else of what a stored table can be held to is taken.
fn declared_columns(create: &mut ast::CreateTable, given: &TableClauses) -> Result<Vec<DeclaredTable>, EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(format!("{what} of a temporary table"), Some(hint)));
    if !given.key.is_empty() {
        return refuse("ORDER BY", "order the rows in the query, after AS");
    }
    if !matches!(create.table_options, ast::CreateTableOptions::None) {
        return refuse("WITH (…)", "leave it out");
    }
    if create.global == Some(true) {
        return refuse("GLOBAL", "leave it out: the table is this session's");
    }
    match create.on_commit.take() {
        None | Some(ast::OnCommit::PreserveRows) => {}
        Some(_) => return refuse("ON COMMIT DROP and ON COMMIT DELETE ROWS", "leave it out, and drop the table when you are done"),
    }
    create.global = None;
    let mut declared = Vec::with_capacity(create.columns.len());
    for column in &mut create.columns {
        let clauses = column_clauses(column)?;
        if clauses.default.is_some() || !clauses.constraints.is_empty() {
            return refuse("DEFAULT, CHECK and keys", "leave them out, or store the table");
        }
        declared.push(DeclaredTable { not_null: clauses.not_null, metadata: type_metadata(&column.data_type)? });
        // Planning knows columns and their types, and nothing of what else is said of them.
        column.options.retain(|option| matches!(option.option, ast::ColumnOption::NotNull));
    }
    match create.constraints.is_empty() {
        true => Ok(declared),
        false => refuse("CHECK and keys", "leave them out, or store the table"),
    }
}

fn own_name(name: &TableReference) -> Result<String, EngineError> {
    let is_own = name.catalog().is_none_or(|catalog| catalog == CATALOG) && name.schema().is_none_or(|schema| schema == TEMP);
    match is_own {
        true => Ok(name.table().to_string()),
        false => {
            let message = format!("a temporary table is in no schema of the store, and so \"{name}\" cannot be one");
            Err(EngineError::Sql { message, position: None, hint: Some("name it without a schema".into()) })
        }
    }
}

/// The rows of the query, where they lie.
async fn collect_rows(
    ctx: &StatementContext,
    name: &str,
    input: LogicalPlan,
    declared: &[DeclaredTable],
) -> Result<ChunkBuilder, EngineError> {
    // As planned, a UNION has the types of its first query. What is wrong with the query is said where it is run.
    let options = ctx.state.config().options();
    let input = ctx.state.analyzer().execute_and_check(input.clone(), options, |_, _| {}).unwrap_or(input);
    check_names(input.schema().as_arrow())?;
    let mut stream = ctx.execute_plan(&input).await?;
    let schema = kept_schema(&stream.schema(), input.schema().as_arrow(), declared);
    let collector = ctx.state.config().get_extension::<ReportCollector>().unwrap_or_default();
    let mut rows = ChunkBuilder::new(name, schema, &ctx.runtime().memory_pool, collector);
    while let Some(batch) = stream.next().await {
        rows.add(batch?)?;
    }
    Ok(rows)
}

/// The types that the rows come in, under the names and with the metadata that were planned or declared. Columns may be NULL later,
/// whatever this query yields, unless they are declared otherwise.
fn kept_schema(found: &Schema, planned: &Schema, declared: &[DeclaredTable]) -> SchemaRef {
    let mut declared = declared.iter();
    let fields = found.fields().iter().zip(planned.fields()).map(|(found, planned)| {
        let field = Field::new(planned.name(), found.data_type().clone(), true);
        match declared.next() {
            Some(declared) => field.with_nullable(!declared.not_null).with_metadata(declared.metadata.clone()),
            None => field.with_metadata(planned.metadata().clone()),
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
