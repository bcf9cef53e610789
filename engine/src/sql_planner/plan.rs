//! Plans a statement: rewrites clauses that DataFusion would answer wrongly, and gives the result the column names of the text.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result, SchemaError};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{
    DdlStatement, DescribeTable, Expr, Limit, LogicalPlan, Projection, Sort, Statement as PlanStatement, Values,
};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{self, ObjectName, Visitor};
use futures::FutureExt;

use super::key_groups::{add_keys, is_about_groups};
use super::ordered_subqueries::{has_ordered_subquery, with_subqueries_below};
use super::select_aliases::with_select_aliases;
use super::wildcards::expand_wildcards;
use common::error::EngineError;
use semantics::optimizer::with_choice_shapes;
use sql::array_literals::rewrite_arrays;
use sql::file_names::name_files;
use sql::function_clauses::check_clauses;
use sql::having::{add_aggregates, lacks_aggregates};
use sql::headers::Headers;
use sql::insert_source::{put_placeholder, take_source, with_source};
use sql::insert_width::wrong_width;
use sql::order_names::{Mention, certain_results, order_by_input};
use sql::parse::kept_statement;
use sql::rewrite::rewrite;
use sql::same_tables::qualify_same_tables;
use sql::semi_joins::keep_left;
use sql::unique_names::{alias_as_written, alias_duplicate_columns, name_casts, with_needed_aliases};
use sql::unnamed_subqueries::name_subqueries;
use sql::walk::{sql_statement_mut, walk_statement};
use table::catalog::{PrivateTable, StatementTables};

pub async fn plan_statement(state: &SessionState, private: Vec<PrivateTable>, mut statement: Statement) -> Result<LogicalPlan> {
    let mut tables = StatementTables::new(state, private);
    if let Some(query) = query_of_describe(state, &statement)? {
        return describe(&mut tables, query).boxed().await;
    }
    let headers = Headers::of(&statement);
    let view = view_definition(&statement);
    let plan = match take_source(&mut statement)? {
        None => planned(&mut tables, statement).await?,
        Some(query) => {
            let source = planned(&mut tables, query).await?;
            put_placeholder(&mut statement, &source)?;
            with_source(planned(&mut tables, statement).await?, source)?
        }
    };
    Ok(match plan {
        // Stored as it was written: it is rewritten when the view is used.
        LogicalPlan::Ddl(DdlStatement::CreateView(mut command)) => {
            if let Some(name) = command.input.schema().fields().iter().find_map(|field| alias_as_written(field.name())) {
                let message = format!("two columns of the view are called \"{name}\"");
                let hint = Some("give one of them another name with AS".to_string());
                return Err(EngineError::Sql { message, position: None, hint }.into_datafusion());
            }
            command.definition = view.or(command.definition);
            LogicalPlan::Ddl(DdlStatement::CreateView(command))
        }
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut command)) => {
            command.input = with_headers(command.input, &headers);
            LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(command))
        }
        LogicalPlan::Statement(PlanStatement::Prepare(mut prepare)) => {
            let input = with_headers(prepare.input, &headers);
            prepare.input = Arc::new(nullable_values(Arc::unwrap_or_clone(input))?);
            LogicalPlan::Statement(PlanStatement::Prepare(prepare))
        }
        plan @ (LogicalPlan::Dml(_) | LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) => nullable_values(plan)?,
        plan => Arc::unwrap_or_clone(with_headers(Arc::new(plan), &headers)),
    })
}

/// The query whose columns DESCRIBE shows: all columns of a view or an external table.
fn query_of_describe(state: &SessionState, statement: &Statement) -> Result<Option<Statement>> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    let is_describe = |alias: &ast::DescribeAlias| matches!(alias, ast::DescribeAlias::Describe | ast::DescribeAlias::Desc);
    match statement.as_ref() {
        ast::Statement::Explain { describe_alias, statement, .. } if is_describe(describe_alias) => match statement.as_ref() {
            query @ ast::Statement::Query(_) => Ok(Some(Statement::Statement(Box::new(query.clone())))),
            _ => Ok(None),
        },
        ast::Statement::ExplainTable { describe_alias, table_name, .. } if is_describe(describe_alias) => {
            all_of(state, table_name).map(Some).map_err(EngineError::into_datafusion)
        }
        _ => Ok(None),
    }
}

fn all_of(state: &SessionState, table: &ast::ObjectName) -> Result<Statement, EngineError> {
    let mut query = kept_statement(state, "SELECT * FROM t")?;
    if let Some(ast::Statement::Query(query)) = sql_statement_mut(&mut query)
        && let ast::SetExpr::Select(select) = query.body.as_mut()
        && let [ast::TableWithJoins { relation: ast::TableFactor::Table { name, .. }, .. }] = select.from.as_mut_slice()
    {
        // Keeps the position in the text, for errors.
        *name = table.clone();
    }
    Ok(query)
}

/// The column types as of when the query runs, after type coercion.
async fn describe(tables: &mut StatementTables<'_>, query: Statement) -> Result<LogicalPlan> {
    let headers = Headers::of(&query);
    let plan = with_headers(Arc::new(planned(tables, query).await?), &headers);
    let state = tables.state;
    let plan = state.analyzer().execute_and_check(Arc::unwrap_or_clone(plan), state.config_options(), |_, _| {})?;
    let output_schema = Arc::new(DFSchema::try_from(LogicalPlan::describe_schema())?);
    Ok(LogicalPlan::DescribeTable(DescribeTable { schema: Arc::clone(plan.schema().inner()), output_schema }))
}

/// The plan of a statement, or of the text of a view.
pub async fn planned(tables: &mut StatementTables<'_>, mut statement: Statement) -> Result<LogicalPlan> {
    keep_left(&mut statement);
    qualify_same_tables(&mut statement)?;
    name_subqueries(&mut statement);
    name_files(&mut statement);
    tables.expand_functions(&mut statement).await?;
    let with_aliases = |tables: &StatementTables<'_>, statement: &Statement| {
        with_select_aliases(tables, statement, |statement| with_unique_names(tables, statement))
    };
    expand_wildcards(tables, &mut statement, with_aliases).await?;
    rewrite(&mut statement)?;
    check_clauses(tables.state, &mut statement)?;
    tables.resolve(&statement).await?;
    if is_insert_of_values(&statement) {
        return with_choice_shapes(with_array_calls(tables, statement)?);
    }
    let is_ordered = has_ordered_subquery(&statement);
    let planned = with_select_aliases(tables, &statement, |statement| with_key_groups(tables, statement))?;
    with_choice_shapes(if is_ordered { with_subqueries_below(planned)? } else { planned })
}

fn with_key_groups(tables: &StatementTables<'_>, statement: &Statement) -> Result<LogicalPlan> {
    let error = match with_referenced_columns(tables, statement) {
        Err(error) if may_be_about_groups(statement) && is_about_groups(&error) => error,
        planned => return planned,
    };
    let mut statement = statement.clone();
    let planned = if add_keys(tables, &mut statement) { with_referenced_columns(tables, &statement) } else { Err(error) };
    match planned {
        Err(error) if is_about_groups(&error) => {
            // For `ORDER BY 1` of an expression, which DataFusion finds by its alias. Whether it finds it without one depends on the names
            // that it gives to the expressions of GROUP BY; if there is an aggregate in it, `uniquely_named` has seen to it.
            alias_duplicate_columns(&mut statement, false);
            with_referenced_columns(tables, &statement).map_err(|_| error)
        }
        planned => planned,
    }
}

/// Plans as if a wide table had only the columns that the statement may reference. If that fails, it is planned again with whole tables,
/// and the error is that of the second attempt.
fn with_referenced_columns(tables: &StatementTables<'_>, statement: &Statement) -> Result<LogicalPlan> {
    if let Some(narrow) = tables.narrowed(statement)? {
        match with_input_names(&narrow, statement) {
            Err(error) if may_be_of_columns(&error) => {}
            planned => return planned,
        }
    }
    with_input_names(tables, statement)
}

/// Whether the cause may be a missing column, or the planner could give a better message with all columns. Other errors, of memory, files,
/// nodes or groups, would be the same with whole tables.
fn may_be_of_columns(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(_) | DataFusionError::SchemaError(..)) && !is_about_groups(error)
}

/// Names in expressions of ORDER BY refer to columns of FROM first, then to columns of the result. Where a table or another part of the
/// statement has a column of that name, only the planner knows whether it is in this FROM, and its error says that it is not.
fn with_input_names(tables: &StatementTables<'_>, statement: &Statement) -> Result<LogicalPlan> {
    let mut results = certain_results(statement, |name| tables.has_column(name));
    let mut failed = None;
    while let Some((renamed, mentions)) = order_by_input(statement, &results) {
        match with_unique_names(tables, &renamed) {
            Ok(plan) => return Ok(plan),
            Err(error) => match missing_mention(&error, &mentions) {
                Some(mention) => results.insert(mention),
                None => {
                    failed = Some(error);
                    break;
                }
            },
        };
    }
    match (with_unique_names(tables, statement), failed) {
        // `key_groups` handles these errors.
        (Err(_), Some(error)) if is_about_groups(&error) => Err(error),
        (planned, _) => planned,
    }
}

/// Each HAVING without GROUP BY and aggregates gets an aggregate. If that does not help, the error is of the statement as it was written.
fn with_unique_names(tables: &StatementTables<'_>, statement: &Statement) -> Result<LogicalPlan> {
    if lacks_aggregates(tables.state, statement) {
        let mut grouped = statement.clone();
        add_aggregates(tables.state, &mut grouped)?;
        if let Ok(plan) = uniquely_named(tables, &grouped) {
            return Ok(plan);
        }
    }
    uniquely_named(tables, statement)
}

/// Columns of equal names get aliases before planning where the SELECT list shows that they need them. Elsewhere they come from columns of
/// joins and inner queries, or from the names that DataFusion gives to calls, and its error says that there are any. If the statement fails
/// with these aliases, the error is of the statement as it was written.
fn uniquely_named(tables: &StatementTables<'_>, statement: &Statement) -> Result<LogicalPlan> {
    if let Some(named) = with_needed_aliases(tables.state, statement, |table, column| has_column(tables, table, column))
        && let Ok(plan) = with_array_calls(tables, named)
    {
        return Ok(plan);
    }
    let explained = |statement: &Statement, error| wrong_width(statement, error, |query| with_array_calls(tables, query));
    let mut error = match with_array_calls(tables, statement.clone()) {
        Err(error) if is_about_names(&error) => error,
        planned => return planned.map_err(|error| explained(statement, error)),
    };
    for (beside_wildcards, names_casts) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut unique = statement.clone();
        alias_duplicate_columns(&mut unique, beside_wildcards);
        if names_casts {
            name_casts(&mut unique);
        }
        match with_array_calls(tables, unique.clone()) {
            Ok(plan) => return Ok(plan),
            // With unique names the planner reports what else is wrong with the statement.
            Err(other) if is_about_names(&error) && !is_about_names(&other) => error = explained(&unique, other),
            Err(_) => {}
        }
    }
    Err(error)
}

fn has_column(tables: &StatementTables<'_>, table: &ObjectName, column: &str) -> bool {
    let lowers_names = tables.state.config_options().sql_parser.enable_ident_normalization;
    let table = object_name_to_table_reference(table.clone(), lowers_names).ok().and_then(|name| tables.table(name));
    table.is_some_and(|table| table.schema().column_with_name(column).is_some())
}

fn with_array_calls(tables: &StatementTables<'_>, mut statement: Statement) -> Result<LogicalPlan> {
    rewrite_arrays(&mut statement);
    tables.plan(statement)
}

/// Whether it has a GROUP BY, or an ORDER BY, which can contain an aggregate.
fn may_be_about_groups(statement: &Statement) -> bool {
    struct Groups;
    impl Visitor for Groups {
        type Break = ();

        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            if query.order_by.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }

        fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<()> {
            match &select.group_by {
                ast::GroupByExpr::Expressions(groups, _) if !groups.is_empty() => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    walk_statement(statement, &mut Groups).is_break()
}

/// Whether the error is that DataFusion gives two columns the same name.
fn is_about_names(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::SchemaError(error, _) => {
            // An ambiguous reference has no table; one with a table is about `SELECT a + 1 AS a, t.*`.
            match error.as_ref() {
                SchemaError::AmbiguousReference { field } => field.relation.is_some(),
                other => matches!(other, SchemaError::DuplicateQualifiedField { .. } | SchemaError::DuplicateUnqualifiedField { .. }),
            }
        }
        // DataFusion has no error variant for this one.
        DataFusionError::Plan(message) => message.contains("require unique expression names"),
        _ => false,
    }
}

/// The mention whose column does not exist; all mentions of that name if the error has no position.
fn missing_mention(error: &DataFusionError, mentions: &HashSet<Mention>) -> Option<Mention> {
    let DataFusionError::SchemaError(root, _) = error.find_root() else { return None };
    let SchemaError::FieldNotFound { field, .. } = root.as_ref() else { return None };
    let span = field.spans().first().or_else(|| error.diagnostic()?.span);
    let missing = (field.name.clone(), span);
    if mentions.contains(&missing) {
        return Some(missing);
    }
    mentions.iter().any(|(name, _)| *name == missing.0).then_some((missing.0, None))
}

/// These can be long and have no names.
fn is_insert_of_values(statement: &Statement) -> bool {
    let Statement::Statement(statement) = statement else { return false };
    let ast::Statement::Insert(insert) = statement.as_ref() else { return false };
    insert.source.as_ref().is_some_and(|query| matches!(query.body.as_ref(), ast::SetExpr::Values(_)))
}

fn view_definition(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Statement(statement) if matches!(**statement, ast::Statement::CreateView(_)) => Some(statement.to_string()),
        _ => None,
    }
}

/// The plan unchanged if a name would occur twice.
pub(super) fn with_headers(plan: Arc<LogicalPlan>, headers: &Headers) -> Arc<LogicalPlan> {
    let mut names = headers.names(plan.schema().fields().len());
    for (name, field) in names.iter_mut().zip(plan.schema().fields()) {
        if let Some(alias) = alias_as_written(field.name()) {
            *name = Some(alias.to_string());
        }
    }
    renamed(&plan, &names).unwrap_or(plan)
}

/// The plan with new names for the first columns of its result.
fn renamed(plan: &Arc<LogicalPlan>, names: &[Option<String>]) -> Result<Arc<LogicalPlan>> {
    let fields = || plan.schema().iter().zip(names.iter().chain(std::iter::repeat(&None)));
    if !fields().any(|((_, field), name)| name.as_ref().is_some_and(|name| name != field.name())) {
        return Ok(Arc::clone(plan));
    }
    // Replaces the top projection if there is one: in a stack of two, each column of one is looked up among all of the other.
    if let LogicalPlan::Projection(Projection { expr, input, .. }) = plan.as_ref()
        && expr.len() == plan.schema().fields().len()
    {
        return named(expr.clone(), names, input);
    }
    let columns = fields().map(|(field, _)| Expr::Column(Column::from(field))).collect();
    named(columns, names, plan)
}

/// A table name that no user can write.
const RESULT: &str = "__result";

fn named(columns: Vec<Expr>, names: &[Option<String>], input: &Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let named = |table: Option<&str>| {
        let names = names.iter().chain(std::iter::repeat(&None));
        let columns = columns.iter().cloned().zip(names).map(|(expr, name)| match name {
            Some(name) => expr.unalias().alias_qualified(table, name),
            None => expr,
        });
        Projection::try_new(columns.collect(), Arc::clone(input))
    };
    // Next to a column of the same name, it belongs to another table.
    let projection = named(None).or_else(|error| if is_about_names(&error) { named(Some(RESULT)) } else { Err(error) })?;
    Ok(Arc::new(LogicalPlan::Projection(projection)))
}

/// The query of a CREATE TABLE that names its first columns.
pub fn with_column_list(plan: Arc<LogicalPlan>, names: &[String]) -> Result<Arc<LogicalPlan>, EngineError> {
    let columns = plan.schema().fields().len();
    let refused = |message: String| Err(EngineError::Sql { message, position: None, hint: None });
    if names.len() > columns {
        return refused(format!("CREATE TABLE names {} columns, and its query has {columns}", names.len()));
    }
    let rest = plan.schema().fields()[names.len()..].iter().map(|field| field.name());
    let mut all = HashSet::new();
    if let Some(name) = names.iter().chain(rest).find(|name| !all.insert(name.as_str())) {
        return refused(format!("column \"{name}\" is there twice"));
    }
    let names: Vec<Option<String>> = names.iter().cloned().map(Some).collect();
    Ok(renamed(&plan, &names)?)
}

/// VALUES of an INSERT inherit NOT NULL from the table, and a NULL among them would give an error without table, column and row. The
/// write finds it with all three.
fn nullable_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down(|plan| match plan {
        LogicalPlan::Dml(mut insert) if is_values(&insert.input) => {
            insert.input = Arc::new(with_nullable_values(Arc::unwrap_or_clone(insert.input))?);
            Ok(Transformed::new(LogicalPlan::Dml(insert), true, TreeNodeRecursion::Stop))
        }
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

fn is_values(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Values(_) => true,
        LogicalPlan::Projection(projection) => is_values(&projection.input),
        LogicalPlan::Sort(sort) => is_values(&sort.input),
        LogicalPlan::Limit(limit) => is_values(&limit.input),
        _ => false,
    }
}

fn with_nullable_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    let below = |input| Ok::<_, DataFusionError>(Arc::new(with_nullable_values(Arc::unwrap_or_clone(input))?));
    Ok(match plan {
        LogicalPlan::Values(Values { schema, values }) => {
            let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
            let fields = schema.iter().map(|(qualifier, field)| (qualifier.cloned(), nullable(field)));
            let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?);
            LogicalPlan::Values(Values { schema, values })
        }
        LogicalPlan::Projection(Projection { expr, input, .. }) => LogicalPlan::Projection(Projection::try_new(expr, below(input)?)?),
        LogicalPlan::Sort(sort) => LogicalPlan::Sort(Sort { input: below(sort.input)?, ..sort }),
        LogicalPlan::Limit(limit) => LogicalPlan::Limit(Limit { input: below(limit.input)?, ..limit }),
        plan => plan,
    })
}
