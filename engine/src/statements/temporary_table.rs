//! CREATE VOLATILE TABLE, with a query or without; `SELECT … INTO VOLATILE` becomes the same.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::StreamExt;

use super::create_table::{check_names, table_schema};
use crate::execution::StatementContext;
use crate::sql_planner::plan::with_column_list;
use common::error::EngineError;
use common::names::{CATALOG, TEMP};
use common::report::ReportCollector;
use sql::column_list::TableClauses;
use sql::sql_types::type_metadata;
use table::constraints::column_clauses;
use table::temporary::ChunkBuilder;

/// Returns the number of rows, or `None` if the statement has no query.
///
/// It is not part of a transaction: a temporary table that a transaction creates survives its rollback.
pub async fn create_temporary(
    ctx: &StatementContext,
    mut create: ast::CreateTable,
    table_clauses: TableClauses,
) -> Result<Option<u64>, EngineError> {
    if !table_clauses.tags.is_empty() {
        return Err(EngineError::unsupported("a temporary table WITH TAGS", Some("stored tables have tags")));
    }
    let declared = declared_columns(&mut create, &table_clauses)?;
    create.temporary = false;
    let has_query = create.query.is_some();
    let statement = Statement::Statement(Box::new(ast::Statement::CreateTable(create)));
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut command)) = ctx.plan(statement).await? else {
        return Err(EngineError::unsupported("this form of CREATE VOLATILE TABLE", None));
    };
    command.input = with_column_list(command.input, &table_clauses.names)?;
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
    // A stop comes before this, or too late.
    ctx.commit_guard().begin_commit()?;
    let created = tables.create(&name, schema, Some(rows), command.or_replace);
    if created.is_err() {
        ctx.commit_guard().abandon_commit();
    }
    created.map(|()| Some(count))
}

/// The declaration of a column.
struct DeclaredTable {
    not_null: bool,
    /// The metadata of its type.
    metadata: HashMap<String, String>,
}

/// By column, if columns are declared. Other options of a stored table are refused.
fn declared_columns(create: &mut ast::CreateTable, table_clauses: &TableClauses) -> Result<Vec<DeclaredTable>, EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(format!("{what} of a temporary table"), Some(hint)));
    if !table_clauses.key.is_empty() {
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
        // The planner only needs the columns and their types, not their other options.
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

/// Collects the rows of the query without copying them.
async fn collect_rows(
    ctx: &StatementContext,
    name: &str,
    input: LogicalPlan,
    declared: &[DeclaredTable],
) -> Result<ChunkBuilder, EngineError> {
    // In an unanalyzed plan, a UNION has the types of its first query. Errors of the query are reported when it runs.
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

/// The types of the incoming rows, with the planned or declared names and metadata. Columns may become NULL later, whatever this query
/// yields, unless they are declared NOT NULL.
fn kept_schema(schema: &Schema, planned: &Schema, declared: &[DeclaredTable]) -> SchemaRef {
    let mut declared = declared.iter();
    let fields = schema.fields().iter().zip(planned.fields()).map(|(source, planned)| {
        let field = Field::new(planned.name(), source.data_type().clone(), true);
        match declared.next() {
            Some(declared) => field.with_nullable(!declared.not_null).with_metadata(declared.metadata.clone()),
            None => field.with_metadata(planned.metadata().clone()),
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
