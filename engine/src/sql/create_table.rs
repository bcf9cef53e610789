//! CREATE TABLE, with a query or without.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::logical_expr::{CreateMemoryTable, DdlStatement, LogicalPlan, LogicalPlanBuilder, SortExpr, col};
use datafusion::common::{Column, TableReference};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use pmem_store::{ColumnOrder, StoreError};

use super::column_list::TableClauses;
use super::ddl::resolve;
use super::order_clause::KeyColumn;
use super::plan::with_column_list;
use crate::error::{EngineError, nearest};
use crate::session::Running;
use crate::types::declared_schema;
use crate::write::{RowWriter, Target, WriteTarget};

/// The rows written, None where the statement has no query.
pub async fn create_table(running: &Running, create: ast::CreateTable, clauses: TableClauses) -> Result<Option<u64>, EngineError> {
    refuse_constraints(&create)?;
    refuse_options(&create)?;
    // Which columns of a query's result may not be NULL; without a query the plan's schema says so.
    let not_null = create.query.is_some().then(|| create.columns.iter().map(is_not_null).collect::<Vec<_>>());
    let statement = Statement::Statement(Box::new(ast::Statement::CreateTable(create)));
    let plan = running.plan(statement).await?;
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut command)) = plan else {
        return Err(EngineError::unsupported("this form of CREATE TABLE", None));
    };
    if !command.constraints.is_empty() {
        return Err(constraint("this constraint"));
    }
    if let Some((column, _)) = command.column_defaults.first() {
        return Err(EngineError::unsupported(format!("DEFAULT (column \"{column}\")"), None));
    }
    command.input = with_column_list(command.input, &clauses.names)?;
    create_from(running, command, clauses.key, not_null).await
}

async fn create_from(
    running: &Running,
    command: CreateMemoryTable,
    key: Vec<KeyColumn>,
    not_null: Option<Vec<bool>>,
) -> Result<Option<u64>, EngineError> {
    let (namespace, table) = resolve(&command.name)?;
    let snapshot = running.catalog.snapshot();
    if !snapshot.namespaces()?.contains(&namespace) {
        return Err(StoreError::DoesNotExist { kind: "schema", name: namespace }.into());
    }
    let table_exists = snapshot.table(&namespace, &table)?.is_some();
    let exists = table_exists || snapshot.view(&namespace, &table)?.is_some();
    if exists && command.if_not_exists {
        return Ok(None);
    }
    if exists && !(command.or_replace && table_exists) {
        let kind = if table_exists { "table" } else { "view" };
        return Err(StoreError::AlreadyExists { kind, name: table }.into());
    }
    // As planned, a UNION has the types of its first query and a CASE that of its first branch. What is wrong with
    // the query is said where it is run.
    let options = running.state.config().options();
    let analyzed = running.state.analyzer().execute_and_check(command.input.as_ref().clone(), options, |_, _| {});
    let input = analyzed.unwrap_or_else(|_| Arc::unwrap_or_clone(command.input));
    let schema = table_schema(input.schema().as_arrow(), not_null.as_deref())?;
    let cluster_key = key_of(&schema, &key)?;
    let target = WriteTarget { namespace, table, schema, cluster_key, what: Target::New { replace: command.or_replace } };
    if not_null.is_none() {
        RowWriter::new(&running.engine, target)?.commit("CREATE TABLE").await?;
        return Ok(None);
    }
    let input = sorted(input, &target.cluster_key)?;
    let stream = running.execute_plan(&input).await?;
    let writer = RowWriter::new(&running.engine, target)?.write_all(stream).await?;
    Ok(Some(writer.commit("CREATE TABLE AS").await?))
}

/// The plan with its rows in the order of the key, if there is one.
pub(crate) fn sorted(plan: LogicalPlan, key: &[ColumnOrder]) -> Result<LogicalPlan, EngineError> {
    if key.is_empty() {
        return Ok(plan);
    }
    let order = key.iter().map(|order| {
        let column = col(Column::new(None::<TableReference>, &order.column));
        SortExpr::new(column, !order.descending, order.nulls_first)
    });
    Ok(LogicalPlanBuilder::from(plan).sort(order.collect::<Vec<_>>())?.build()?)
}

fn is_not_null(column: &ast::ColumnDef) -> bool {
    column.options.iter().any(|option| matches!(option.option, ast::ColumnOption::NotNull))
}

/// Columns of a query may be NULL later, whatever this query yields, unless they are declared otherwise.
fn table_schema(input: &Schema, not_null: Option<&[bool]>) -> Result<SchemaRef, EngineError> {
    let declared = declared_schema(input);
    let fields = declared.fields().iter().enumerate().map(|(index, field)| {
        let nullable = match not_null {
            Some(columns) => !columns.get(index).copied().unwrap_or(false),
            None => field.is_nullable(),
        };
        Field::new(field.name(), field.data_type().clone(), nullable)
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    for (index, field) in schema.fields().iter().enumerate() {
        if schema.fields()[..index].iter().any(|other| other.name() == field.name()) {
            let message = format!("column \"{}\" is there twice", field.name());
            return Err(EngineError::Sql { message, position: None, hint: Some("give one of them another name with AS".into()) });
        }
    }
    pmem_store::segment::storable_schema(&schema).map_err(|column| {
        EngineError::unsupported(format!("a table with column {column}"), Some("cast the column to another type"))
    })?;
    Ok(Arc::new(schema))
}

/// The key's columns as the schema spells them.
pub(crate) fn key_of(schema: &Schema, key: &[KeyColumn]) -> Result<Vec<ColumnOrder>, EngineError> {
    key.iter().map(|column| {
        let name = column.name.as_str();
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let exact = names().find(|field| *field == name).or_else(|| names().find(|field| field.eq_ignore_ascii_case(name)));
        match exact {
            Some(field) => {
                let nulls_first = column.nulls_first.unwrap_or(column.descending);
                Ok(ColumnOrder { column: field.to_string(), descending: column.descending, nulls_first })
            }
            None => {
                let hint = nearest(name, names()).map(|near| format!("did you mean \"{near}\"?"));
                Err(EngineError::Sql { message: format!("column \"{name}\" to order by does not exist"), position: None, hint })
            }
        }
    }).collect()
}

/// Clauses of other engines that DataFusion has no words for.
fn refuse_options(create: &ast::CreateTable) -> Result<(), EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    if create.temporary {
        return refuse("CREATE TEMPORARY TABLE", "create the table and drop it when you are done");
    }
    if create.like.is_some() {
        return refuse("CREATE TABLE … LIKE", "use CREATE TABLE t AS SELECT * FROM other LIMIT 0");
    }
    if create.partition_by.is_some() || create.partition_of.is_some() {
        return refuse("PARTITION BY", "order the table with ORDER BY: queries skip what they need not read");
    }
    if !matches!(create.table_options, ast::CreateTableOptions::None) {
        return refuse("options of CREATE TABLE", "leave them out");
    }
    Ok(())
}

/// A constraint is enforced or refused; only NOT NULL is enforced so far.
fn refuse_constraints(create: &ast::CreateTable) -> Result<(), EngineError> {
    if let Some(found) = create.constraints.first() {
        return Err(constraint(&found.to_string()));
    }
    for column in &create.columns {
        for option in &column.options {
            match &option.option {
                ast::ColumnOption::Null | ast::ColumnOption::NotNull => {}
                other => return Err(constraint(&format!("{other} of column \"{}\"", column.name.value))),
            }
        }
    }
    Ok(())
}

fn constraint(what: &str) -> EngineError {
    EngineError::unsupported(what, Some("NOT NULL is the one constraint that is enforced so far; leave the others out"))
}
