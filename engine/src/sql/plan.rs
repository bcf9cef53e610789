//! A statement becomes a plan: its clauses are said so that DataFusion answers them right, and what
//! comes out is called as people wrote it.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, Expr, Limit, LogicalPlan, Projection, Sort, Statement as PlanStatement, Values};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use super::headers::Headers;
use super::insert_width::{WRONG_WIDTH, wrong_width};
use super::insert_source::{put_placeholder, take_source, with_source};
use super::rewrite::rewrite;
use super::unique_names::name_columns;
use crate::catalog;
use crate::error::EngineError;

pub async fn plan_statement(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    let headers = Headers::of(&statement);
    let view = view_definition(&statement);
    let plan = match take_source(&mut statement)? {
        None => planned(state, statement).await?,
        Some(query) => {
            let query = Statement::Statement(Box::new(ast::Statement::Query(query)));
            let source = planned(state, query).await?;
            put_placeholder(&mut statement, source.schema().fields().len())?;
            with_source(planned(state, statement).await?, source)?
        }
    };
    Ok(match plan {
        // Kept as it was written: it is rewritten when the view is used.
        LogicalPlan::Ddl(DdlStatement::CreateView(mut command)) => {
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

/// The plan of a statement, or of the text of a view.
pub async fn planned(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    rewrite(&mut statement)?;
    catalog::by_names(statement, |statement| with_unique_names(state, statement)).await
}

async fn with_unique_names(state: &SessionState, statement: Arc<Statement>) -> Result<LogicalPlan> {
    if is_insert_of_values(&statement) {
        return state.statement_to_plan(Arc::unwrap_or_clone(statement)).await;
    }
    let error = match state.statement_to_plan(statement.as_ref().clone()).await {
        Err(error) if is_about_names(&error) => error,
        Err(error) if error.to_string().contains(WRONG_WIDTH) => return Err(wrong_width(state, &statement, error).await),
        result => return result,
    };
    for beside_wildcards in [false, true] {
        let mut statement = statement.as_ref().clone();
        name_columns(&mut statement, beside_wildcards);
        if let Ok(plan) = state.statement_to_plan(statement).await {
            return Ok(plan);
        }
    }
    Err(error)
}

/// Two columns that DataFusion gives the same name.
fn is_about_names(error: &DataFusionError) -> bool {
    let text = error.to_string();
    ["require unique expression names", "duplicate unqualified field name", "duplicate qualified field name"]
        .iter()
        .any(|words| text.contains(words))
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

/// The plan as it is where a name would be there twice.
fn with_headers(plan: Arc<LogicalPlan>, headers: &Headers) -> Arc<LogicalPlan> {
    let names = headers.names(plan.schema().fields().len());
    renamed(&plan, &names).unwrap_or(plan)
}

/// The plan with other names for the first columns of its result.
fn renamed(plan: &Arc<LogicalPlan>, names: &[Option<String>]) -> Result<Arc<LogicalPlan>> {
    let fields = || plan.schema().iter().zip(names.iter().chain(std::iter::repeat(&None)));
    if !fields().any(|((_, field), name)| name.as_ref().is_some_and(|name| name != field.name())) {
        return Ok(Arc::clone(plan));
    }
    let columns = fields().map(|(field, name)| match name {
        Some(name) => Expr::Column(Column::from(field)).alias(name),
        None => Expr::Column(Column::from(field)),
    });
    let columns = columns.collect();
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(plan))?)))
}

/// The query of a CREATE TABLE that names its first columns.
pub fn with_column_list(plan: Arc<LogicalPlan>, names: &[String]) -> Result<Arc<LogicalPlan>, EngineError> {
    let columns = plan.schema().fields().len();
    let refused = |message: String| Err(EngineError::Sql { message, position: None, hint: None });
    if names.len() > columns {
        return refused(format!("CREATE TABLE names {} columns, and its query has {columns}", names.len()));
    }
    let rest = plan.schema().fields()[names.len()..].iter().map(|field| field.name());
    let all: Vec<&String> = names.iter().chain(rest).collect();
    if let Some((_, name)) = all.iter().enumerate().find(|(index, name)| all[..*index].contains(name)) {
        return refused(format!("column \"{name}\" is there twice"));
    }
    let names: Vec<Option<String>> = names.iter().cloned().map(Some).collect();
    Ok(renamed(&plan, &names)?)
}

/// VALUES of an INSERT take NOT NULL from the table, and a NULL among them would be an error that knows
/// neither table, column nor row. It is found where the rows are written.
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
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            LogicalPlan::Projection(Projection::try_new(expr, below(input)?)?)
        }
        LogicalPlan::Sort(sort) => LogicalPlan::Sort(Sort { input: below(sort.input)?, ..sort }),
        LogicalPlan::Limit(limit) => LogicalPlan::Limit(Limit { input: below(limit.input)?, ..limit }),
        plan => plan,
    })
}
