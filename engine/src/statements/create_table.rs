//! CREATE TABLE, with a query or without.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::logical_expr::{CreateMemoryTable, DdlStatement, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use pmem_store::attributes::Attributes;
use pmem_store::{StoreError, TableRecord};

use super::draft::Draft;
use super::objects::values_of;
use super::table_options::new_options;
use super::temporary_table::create_temporary;
use crate::dml::count;
use crate::execution::StatementContext;
use crate::sql_planner::plan::with_column_list;
use common::engine_settings::switches;
use common::error::EngineError;
use common::privilege::Privilege;
use common::types::declared_schema;
use kernels::matrix::{InPlaceTable, filled_in_place};
use sql::column_list::TableClauses;
use sql::order_clause::KeyColumn;
use sql::sql_types::type_metadata;
use table::catalog::resolve;
use table::constraints::{ColumnClauses, Declared, column_clauses, default_value, table_constraint};
use table::write::{Declarations, NewTable, RowWriter, WriteMode, WriteTarget, key_of, sorted};

/// Returns the number of rows, or `None` if the statement has no query.
pub async fn create_table(
    ctx: &StatementContext,
    mut create: ast::CreateTable,
    table_clauses: TableClauses,
) -> Result<Option<u64>, EngineError> {
    if create.temporary {
        return create_temporary(ctx, create, table_clauses).await;
    }
    let mut clauses = Vec::with_capacity(create.columns.len());
    let mut metadata = Vec::with_capacity(create.columns.len());
    for column in &mut create.columns {
        clauses.push(column_clauses(column)?);
        metadata.push(type_metadata(&column.data_type)?);
        // The planner only needs the columns and their types, not their other options.
        column.options.retain(|option| matches!(option.option, ast::ColumnOption::NotNull));
    }
    let constraints = std::mem::take(&mut create.constraints);
    let constraints = constraints.iter().map(table_constraint).collect::<Result<Vec<_>, _>>()?;
    let mut options = BTreeMap::new();
    if let ast::CreateTableOptions::With(with_options) = &mut create.table_options {
        options = new_options(&ctx.engine.store, std::mem::take(with_options))?;
        if options.get("read_only").is_some_and(|value| value == "true") {
            let hint = "fill the table first, and then run ALTER TABLE … SET (read_only = true)";
            return Err(EngineError::unsupported("CREATE TABLE … WITH (read_only)", Some(hint)));
        }
        create.table_options = ast::CreateTableOptions::None;
    }
    refuse_options(&create)?;
    let has_query = create.query.is_some();
    let statement = Statement::Statement(Box::new(ast::Statement::CreateTable(create)));
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut command)) = ctx.plan(statement).await? else {
        return Err(EngineError::unsupported("this form of CREATE TABLE", None));
    };
    command.input = with_column_list(command.input, &table_clauses.names)?;
    create_from(
        ctx,
        command,
        table_clauses.key,
        CreateClauses { clauses, metadata, constraints, options, tags: values_of(ctx, &table_clauses.tags)?, has_query },
    )
    .await
}

/// The parts of a CREATE TABLE that its plan does not contain.
struct CreateClauses {
    /// By column; empty if a query defines the columns.
    clauses: Vec<ColumnClauses>,
    /// Like `clauses`: the metadata of types, which casts of a query's columns do not keep.
    metadata: Vec<HashMap<String, String>>,
    constraints: Vec<Declared>,
    options: BTreeMap<String, String>,
    tags: Attributes,
    has_query: bool,
}

async fn create_from(
    ctx: &StatementContext,
    command: CreateMemoryTable,
    key: Vec<KeyColumn>,
    mut create_clauses: CreateClauses,
) -> Result<Option<u64>, EngineError> {
    let (namespace, table) = resolve(&command.name)?;
    let snapshot = ctx.catalog.snapshot();
    if !snapshot.namespaces()?.contains(&namespace) {
        return Err(StoreError::DoesNotExist { kind: "schema", name: namespace }.into());
    }
    let table_exists = snapshot.table(&namespace, &table)?.is_some();
    let exists = table_exists || snapshot.view(&namespace, &table)?.is_some();
    ctx.catalog.check(|authorization| match snapshot.table(&namespace, &table)? {
        Some(old_table) if command.or_replace => authorization.table(Privilege::Ownership, old_table.record()),
        _ => authorization.schema(Privilege::Create, &namespace),
    })?;
    if exists && command.if_not_exists {
        return Ok(None);
    }
    let is_array = snapshot.table_record(&namespace, &table).is_some_and(TableRecord::is_array);
    if exists && !(command.or_replace && table_exists && !is_array) {
        let kind = if is_array {
            "array"
        } else if table_exists {
            "table"
        } else {
            "view"
        };
        return Err(StoreError::is_taken(kind, &namespace, &table).into());
    }
    let has_query = create_clauses.has_query;
    let tags = std::mem::take(&mut create_clauses.tags);
    // In an unanalyzed plan, a UNION has the types of its first query and a CASE those of its first branch. Errors of the query are
    // reported when it runs.
    let analyzed = ctx.analyzed(&command.input).await;
    let input = analyzed.unwrap_or_else(|_| Arc::unwrap_or_clone(command.input));
    let draft = drafted(ctx, &table, input.schema().as_arrow(), create_clauses)?;
    let schema = draft.schema();
    let cluster_key = key_of(&schema, &key)?;
    let declared = Declarations { columns: draft.infos(), constraints: draft.constraints, options: draft.options, tags };
    let what = WriteMode::New { replace: command.or_replace, declared };
    let target = WriteTarget { namespace, table, schema, cluster_key, what };
    if !has_query {
        RowWriter::new(&ctx.catalog.write_scope(), target)?.commit("CREATE TABLE").await?;
        return Ok(None);
    }
    let input = sorted(input, &target.cluster_key)?;
    Ok(Some(filled(ctx, &input, target).await?.commit("CREATE TABLE AS").await?))
}

/// Fills the table with the rows of the query, which are built in place if possible.
async fn filled(ctx: &StatementContext, input: &LogicalPlan, target: WriteTarget) -> Result<RowWriter, EngineError> {
    let physical = ctx.physical_plan(input).await?;
    let table = NewTable::new(RowWriter::new(&ctx.catalog.write_scope(), target)?);
    let is_allowed = switches(ctx.state.config_options()).results_in_place;
    let in_place: Arc<dyn InPlaceTable> = Arc::clone(&table) as _;
    let Some(filling) = is_allowed.then(|| filled_in_place(&in_place, &physical)).flatten() else {
        return table.take()?.write_all(ctx.execute_physical(input, physical)?).await;
    };
    count(ctx.execute_physical(input, filling)?).await?;
    table.take()
}

/// The table with its defaults and constraints.
fn drafted(ctx: &StatementContext, table: &str, input: &Schema, create_clauses: CreateClauses) -> Result<Draft, EngineError> {
    let not_null: Vec<bool> = create_clauses.clauses.iter().map(|clauses| clauses.not_null).collect();
    let schema = table_schema(input, create_clauses.has_query.then_some(not_null.as_slice()))?;
    let mut metadata = create_clauses.metadata.into_iter();
    let fields = schema.fields().iter().map(|field| match metadata.next() {
        Some(metadata) => Arc::new(field.as_ref().clone().with_metadata(metadata)),
        None => Arc::clone(field),
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let mut draft = Draft::new(table, &schema);
    draft.options = create_clauses.options;
    let mut declared = Vec::new();
    for (column, clauses) in draft.columns.iter_mut().zip(create_clauses.clauses) {
        if let Some(sql) = clauses.default {
            // Refused here and not at the first row.
            default_value(&ctx.engine.rules, &sql, &column.field).map_err(|error| ctx.located(error))?;
            column.info.default_sql = Some(sql);
        }
        declared.extend(clauses.constraints);
    }
    declared.extend(create_clauses.constraints);
    declared.into_iter().try_for_each(|declared| draft.declare(ctx, declared))?;
    Ok(draft)
}

/// The field of a table's column with this type; it is nullable.
pub async fn column_field(ctx: &StatementContext, name: ast::Ident, data_type: ast::DataType) -> Result<Field, EngineError> {
    // A name that no table has.
    let table = ast::ObjectName::from(vec![ast::Ident::with_quote('"', "\u{1}")]);
    let column = ast::ColumnDef { name, data_type, options: Vec::new() };
    let create = CreateTableBuilder::new(table).columns(vec![column]).build();
    let plan = ctx.plan(Statement::Statement(Box::new(ast::Statement::CreateTable(create)))).await?;
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(command)) = plan else {
        return Err(EngineError::internal("a column's type is no part of a table"));
    };
    let schema = table_schema(command.input.schema().as_arrow(), None)?;
    Ok(schema.field(0).clone())
}

/// Columns of a query may become NULL later, whatever this query yields, unless they are declared NOT NULL.
pub fn table_schema(input: &Schema, not_null: Option<&[bool]>) -> Result<SchemaRef, EngineError> {
    let declared = declared_schema(input);
    let fields = declared.fields().iter().enumerate().map(|(index, field)| {
        let nullable = match not_null {
            Some(columns) => !columns.get(index).copied().unwrap_or(false),
            None => field.is_nullable(),
        };
        field.as_ref().clone().with_nullable(nullable)
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    check_names(&schema)?;
    pmem_store::segment::storable_schema(&schema)
        .map_err(|column| EngineError::unsupported(format!("a table with column {column}"), Some("cast the column to another type")))?;
    Ok(Arc::new(schema))
}

/// An error if two columns have the same name.
pub fn check_names(schema: &Schema) -> Result<(), EngineError> {
    for (index, field) in schema.fields().iter().enumerate() {
        if schema.fields()[..index].iter().any(|other| other.name() == field.name()) {
            let message = format!("column \"{}\" is there twice", field.name());
            return Err(EngineError::Sql { message, position: None, hint: Some("give one of them another name with AS".into()) });
        }
    }
    Ok(())
}

/// Options of other database systems for which DataFusion has no syntax.
fn refuse_options(create: &ast::CreateTable) -> Result<(), EngineError> {
    let refuse = |what: &str, hint| Err(EngineError::unsupported(what, Some(hint)));
    // In parentheses it is parsed as a column of that name.
    let is_like = |column: &ast::ColumnDef| column.name.quote_style.is_none() && column.name.value.eq_ignore_ascii_case("like");
    if create.like.is_some() || create.columns.iter().any(|column| is_like(column) && matches!(column.data_type, ast::DataType::Custom(..)))
    {
        return refuse("CREATE TABLE … LIKE", "use CREATE TABLE t AS SELECT * FROM other LIMIT 0");
    }
    if create.partition_by.is_some() || create.partition_of.is_some() {
        return refuse("PARTITION BY", "order the table with ORDER BY: queries skip what they need not read");
    }
    if !matches!(create.table_options, ast::CreateTableOptions::None) {
        return refuse("an option of CREATE TABLE in this form", "leave them out; a table has the option WITH (durability = 'async')");
    }
    Ok(())
}
