//! The tables of a statement, resolved once. All attempts to plan it use the same tables, and so do look-ups before it is planned.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::{TableFunctionArgs, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, ResolvedTableReference, Result, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::SqlToRel;
use datafusion::sql::sqlparser::ast::{self, TableFactor};
use parking_lot::Mutex;

use super::file_tables::file_in_from;
use super::provider::StoreCatalog;
use super::pruned_table::{is_wide, with_columns};
use super::referenced_columns::{ReferencedColumns, query_of};
use super::table::StoreTable;
use super::user_functions::{CalledFunctions, called_functions, called_table, planner_name};
use common::error::EngineError;
use common::file_format::is_file_name;
use common::names::CATALOG;
use sql::function_clauses::refuse_clauses;
use sql::functions::{calls_of, each_table_call_mut};
use sql::{SqlTypes, split_name};

/// The catalog and the schema of tables that only the statement's own query can name.
const PRIVATE: (&str, &str) = ("__quiver", "statement");
/// The same as one name.
pub const PRIVATE_SCHEMA: &str = "__quiver.statement";

pub type PrivateTable = (&'static str, Arc<dyn TableProvider>);

/// Where a planner finds tables, functions and settings.
#[derive(Clone)]
pub struct StatementTables<'a> {
    pub state: &'a SessionState,
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
    tables: HashMap<ResolvedTableReference, Arc<dyn TableProvider>>,
    /// The tables of calls of functions in FROM, by function and arguments.
    calls: Arc<Mutex<HashMap<String, Arc<dyn TableProvider>>>>,
    /// The functions of users that its expressions call.
    functions: CalledFunctions,
}

impl<'a> StatementTables<'a> {
    pub fn new(state: &'a SessionState, private: Vec<PrivateTable>) -> StatementTables<'a> {
        let name = |table: &str| ResolvedTableReference { catalog: PRIVATE.0.into(), schema: PRIVATE.1.into(), table: table.into() };
        let tables = private.into_iter().map(|(table, provider)| (name(table), provider)).collect();
        let (relation_planners, functions) = (state.relation_planners().to_vec(), CalledFunctions::default());
        StatementTables { state, relation_planners, tables, calls: Arc::default(), functions }
    }

    /// Resolves the tables of the statement that are not resolved yet. A name without a table may be that of files; otherwise it is an
    /// error only when it is planned.
    pub async fn resolve(&mut self, statement: &Statement) -> Result<()> {
        let new_table = new_table_of(statement);
        let references = self.state.resolve_table_references(statement)?;
        for reference in references.iter().cloned() {
            let is_bare = matches!(reference, TableReference::Bare { .. });
            let name = self.full_name(reference);
            if let Entry::Vacant(entry) = self.tables.entry(name) {
                let name = entry.key();
                let table = match self.state.schema_for_ref(name.clone()) {
                    Ok(schema) => schema.table(&name.table).await?,
                    Err(_) => None,
                };
                let table = match table {
                    None if is_bare && is_file_name(&name.table) => match file_in_from(self.state, &name.table).await {
                        // It may have any name, and need not be in FROM.
                        Err(_) if new_table == Some(&*name.table) => None,
                        file => Some(file?),
                    },
                    table => table,
                };
                if let Some(table) = table {
                    entry.insert(table);
                }
            }
        }
        if let Some(catalog) = StoreCatalog::of(self.state) {
            let catalog = catalog.with_functions_of(self.common_version(references));
            called_functions(&catalog, self.state, calls_of(statement), &mut self.functions).await?;
            let scalars = &self.functions.scalars;
            if !scalars.is_empty() {
                refuse_clauses(statement, &|name| scalars.contains_key(&planner_name(name))).map_err(EngineError::into_datafusion)?;
            }
        }
        Ok(())
    }

    /// The older version at which the statement reads all of its tables, if there is one: then its functions are those of that version.
    fn common_version(&self, references: Vec<TableReference>) -> Option<u64> {
        let mut versions = references.into_iter().map(|reference| {
            let name = self.full_name(reference);
            split_name(&name.table)?;
            let table = self.tables.get(&name)?.downcast_ref::<StoreTable>()?;
            Some(table.snapshot.record().changed_version)
        });
        let first = versions.next()??;
        versions.all(|version| version == Some(first)).then_some(first)
    }

    /// Puts tables in the place of the functions of users that are called in FROM.
    pub async fn expand_functions(&mut self, statement: &mut Statement) -> Result<()> {
        let Some(catalog) = StoreCatalog::of(self.state) else { return Ok(()) };
        let mut calls = Vec::new();
        each_table_call_mut(statement, &mut |factor| calls.extend(call_in_from(factor)));
        // By the text of the call: one that is replaced takes the calls in its arguments with it.
        let mut names: HashMap<String, String> = HashMap::new();
        for (name, arguments) in &calls {
            let Some(table) = called_table(&catalog, self.state, name, arguments).await? else { continue };
            let reference = ResolvedTableReference {
                catalog: PRIVATE.0.into(),
                schema: PRIVATE.1.into(),
                table: format!("call_{}", self.tables.len()).into(),
            };
            names.insert(call_text(name, arguments), reference.table.to_string());
            self.tables.insert(reference, table);
        }
        each_table_call_mut(statement, &mut |factor| {
            if let Some((name, arguments)) = call_in_from(factor)
                && let Some(table) = names.get(&call_text(&name, &arguments))
            {
                read_private_table(factor, table);
            }
        });
        Ok(())
    }

    /// Plans a statement whose tables are resolved.
    pub fn plan(&self, statement: Statement) -> Result<LogicalPlan> {
        SqlToRel::new(self).statement_to_plan(statement)
    }

    pub fn table(&self, name: TableReference) -> Option<&Arc<dyn TableProvider>> {
        self.tables.get(&self.full_name(name))
    }

    /// Whether any of the tables has a column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        self.tables.values().any(|table| table.schema().column_with_name(name).is_some())
    }

    /// The same tables for a plan in which `planner` is asked first about each element of FROM.
    pub fn with_relation_planner(&self, planner: Arc<dyn RelationPlanner>) -> StatementTables<'a> {
        let mut tables = self.clone();
        tables.relation_planners.insert(0, planner);
        tables
    }

    /// The same tables with only the columns that the statement may reference. `None` if no table is wide, or if the plan is to show all
    /// columns.
    pub fn narrowed(&self, statement: &Statement) -> Result<Option<StatementTables<'a>>> {
        if !self.tables.values().any(|table| is_wide(&table.schema())) {
            return Ok(None);
        }
        let Some(catalog) = StoreCatalog::of(self.state).filter(|catalog| !catalog.shows_all_columns) else { return Ok(None) };
        let Some(columns) = query_of(statement).and_then(ReferencedColumns::of) else { return Ok(None) };
        let (remote, zone) = (catalog.engine.remote_tables(), self.state.config_options().execution.time_zone.as_deref());
        let (mut narrow, mut has_narrowed) = (self.clone(), false);
        for (name, table) in &mut narrow.tables {
            // A statement that changes rows reads all columns of its target, which is a private table.
            if *name.catalog == *CATALOG
                && let Some(reduced) = with_columns(table, &columns, remote, zone)?
            {
                *table = reduced;
                has_narrowed = true;
            }
        }
        Ok(has_narrowed.then_some(narrow))
    }

    fn full_name(&self, name: TableReference) -> ResolvedTableReference {
        let defaults = &self.state.config_options().catalog;
        name.resolve(&defaults.default_catalog, &defaults.default_schema)
    }
}

/// The name of the table that a statement creates, if it has no schema.
fn new_table_of(statement: &Statement) -> Option<&str> {
    let Statement::Statement(statement) = statement else { return None };
    let ast::Statement::CreateTable(create) = statement.as_ref() else { return None };
    let [name] = create.name.0.as_slice() else { return None };
    Some(name.as_ident()?.value.as_str())
}

fn call_in_from(factor: &TableFactor) -> Option<(ast::ObjectName, Vec<ast::FunctionArg>)> {
    match factor {
        TableFactor::Table { name, args: Some(arguments), .. } => Some((name.clone(), arguments.args.clone())),
        TableFactor::Function { name, args, .. } => Some((name.clone(), args.clone())),
        _ => None,
    }
}

fn call_text(name: &ast::ObjectName, arguments: &[ast::FunctionArg]) -> String {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    format!("{name}({})", arguments.join(", "))
}

/// The table has the alias of the call, or else the name of the function.
fn read_private_table(factor: &mut TableFactor, table: &str) {
    let (TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. }) = factor else { return };
    let Some(function) = name.0.last().and_then(|name| name.as_ident()).cloned() else { return };
    let alias = alias.take().unwrap_or(ast::TableAlias { explicit: true, name: function, columns: Vec::new(), at: None });
    let parts = [PRIVATE.0, PRIVATE.1, table].map(|part| ast::Ident::with_quote('"', part));
    *factor = TableFactor::Table {
        name: ast::ObjectName::from(parts.to_vec()),
        alias: Some(alias),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
}

/// As DataFusion's own, which is private. COPY, which would need types of files, is planned elsewhere.
impl ContextProvider for StatementTables<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let name = self.full_name(name);
        let table = self.tables.get(&name).ok_or(EngineError::NoTable(name))?;
        Ok(provider_as_source(Arc::clone(table)))
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        let function = self.state.table_functions().get(name);
        let function = function.ok_or_else(|| EngineError::NoTableFunction(name.to_string()))?;
        let context = SimplifyContext::builder()
            .with_config_options(Arc::clone(self.state.config_options()))
            .with_query_execution_start_time(self.state.execution_props().query_execution_start_time)
            .build();
        let (simplifier, schema) = (ExprSimplifier::new(context), DFSchema::empty());
        let args = args.into_iter().map(|arg| simplifier.simplify(simplifier.coerce(arg, &schema)?)).collect::<Result<Vec<_>>>()?;
        // A function that reads files is called once, however often the statement is planned.
        let call = format!("{name}({args:?})");
        if let Some(table) = self.calls.lock().get(&call) {
            return Ok(provider_as_source(Arc::clone(table)));
        }
        let table = function.create_table_provider_with_args(TableFunctionArgs::new(&args, self.state))?;
        self.calls.lock().insert(call, Arc::clone(&table));
        Ok(provider_as_source(table))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    /// That of each session; a state does not show its own.
    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(SqlTypes))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.state.scalar_functions().get(name).or_else(|| self.functions.scalars.get(name)).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).or_else(|| self.functions.aggregates.get(name)).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    /// A session has no variables.
    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
