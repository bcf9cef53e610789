//! CREATE TABLE, with a query or without.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::logical_expr::{CreateMemoryTable, DdlStatement, LogicalPlan, LogicalPlanBuilder, SortExpr, col};
use datafusion::common::{Column, TableReference};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use pmem_store::{ColumnOrder, StoreError};

use super::ddl::resolve;
use crate::error::{EngineError, nearest};
use crate::session::Running;
use crate::types::declared_schema;
use crate::write::{RowWriter, Target, WriteTarget};

/// The rows written, None where the statement has no query.
pub async fn create_table(running: &Running, mut create: ast::CreateTable) -> Result<Option<u64>, EngineError> {
    refuse_constraints(&create)?;
    let key = cluster_columns(&mut create)?;
    let with_query = create.query.is_some();
    let statement = Statement::Statement(Box::new(ast::Statement::CreateTable(create)));
    let plan = running.plan(statement).await?;
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(command)) = plan else {
        return Err(EngineError::unsupported("this form of CREATE TABLE", None));
    };
    if !command.constraints.is_empty() {
        return Err(constraint("this constraint"));
    }
    if let Some((column, _)) = command.column_defaults.first() {
        return Err(EngineError::unsupported(format!("DEFAULT (column \"{column}\")"), None));
    }
    create_from(running, command, key, with_query).await
}

async fn create_from(
    running: &Running,
    command: CreateMemoryTable,
    key: Vec<String>,
    with_query: bool,
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
    let schema = table_schema(command.input.schema().as_arrow(), with_query)?;
    let cluster_key = key_of(&schema, &key)?;
    let target = WriteTarget { namespace, table, schema, cluster_key, what: Target::New { replace: command.or_replace } };
    if !with_query {
        RowWriter::new(&running.engine, target)?.commit("CREATE TABLE").await?;
        return Ok(None);
    }
    let input = sorted(Arc::unwrap_or_clone(command.input), &target.cluster_key)?;
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

/// Columns of a query may be NULL later, whatever this query yields.
fn table_schema(input: &Schema, with_query: bool) -> Result<SchemaRef, EngineError> {
    let declared = declared_schema(input);
    let fields = declared.fields().iter().map(|field| Field::new(field.name(), field.data_type().clone(), with_query || field.is_nullable()));
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
pub(crate) fn key_of(schema: &Schema, key: &[String]) -> Result<Vec<ColumnOrder>, EngineError> {
    key.iter().map(|column| {
        let mut words = column.split_whitespace();
        let name = words.next().unwrap_or_default();
        let descending = match words.next().map(str::to_ascii_lowercase).as_deref() {
            None | Some("asc") => false,
            Some("desc") => true,
            Some(other) => {
                let message = format!("\"{other}\" is no order; ASC and DESC are");
                return Err(EngineError::Sql { message, position: None, hint: None });
            }
        };
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let exact = names().find(|field| *field == name).or_else(|| names().find(|field| field.eq_ignore_ascii_case(name)));
        match exact {
            Some(field) => Ok(ColumnOrder { column: field.to_string(), descending, nulls_first: descending }),
            None => {
                let hint = nearest(name, names()).map(|near| format!("did you mean \"{near}\"?"));
                Err(EngineError::Sql { message: format!("column \"{name}\" to order by does not exist"), position: None, hint })
            }
        }
    }).collect()
}

/// Takes ORDER BY or CLUSTER BY out of the statement.
fn cluster_columns(create: &mut ast::CreateTable) -> Result<Vec<String>, EngineError> {
    let order_by: Vec<ast::Expr> = create.order_by.take().map(|exprs| exprs.into_iter().collect()).unwrap_or_default();
    let cluster_by: Vec<ast::Expr> = match create.cluster_by.take() {
        Some(ast::WrappedCollection::NoWrapping(exprs) | ast::WrappedCollection::Parentheses(exprs)) => exprs,
        None => Vec::new(),
    };
    if !order_by.is_empty() && !cluster_by.is_empty() {
        return Err(EngineError::unsupported("ORDER BY and CLUSTER BY together", Some("they mean the same: use one")));
    }
    let columns = order_by.into_iter().chain(cluster_by).map(|expr| match expr {
        ast::Expr::Identifier(name) => Ok(if name.quote_style.is_some() { name.value } else { name.value.to_lowercase() }),
        other => Err(EngineError::unsupported(format!("a table ordered by the expression {other}"), Some("order by columns"))),
    });
    columns.collect()
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
