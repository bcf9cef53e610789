//! An INSERT whose query has another number of columns than the target list.

use datafusion::common::{DataFusionError, Diagnostic, Result, Span};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Insert, ObjectNamePart, Spanned, TableObject};

use super::fragments::query_of;
use common::error::EngineError;

/// Whether an error is about this. DataFusion gives it the general type of planning errors.
pub fn is_wrong_width(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(message) if message.starts_with("Column count doesn't match insert query!"))
}

/// The error with both counts and the position; the original error if these cannot be found. `plan` plans a query.
pub fn wrong_width(statement: &Statement, error: DataFusionError, plan: impl Fn(Statement) -> Result<LogicalPlan>) -> DataFusionError {
    let Some(insert) = insert_in(statement) else { return error };
    let Some(message) = counts(insert, plan) else { return error };
    let span = insert.source.as_ref().and_then(|query| Span::try_from_sqlparser_span(query.span()));
    let diagnostic = Diagnostic::new_error(message.clone(), span);
    let hint = Some("give a value for each column, or name the columns".to_string());
    EngineError::Sql { message, position: None, hint }.into_datafusion().with_diagnostic(diagnostic)
}

/// Plans the query to count its columns, and a query of the table to count the table's.
fn counts(insert: &Insert, plan: impl Fn(Statement) -> Result<LogicalPlan>) -> Option<String> {
    let columns_of = |query: ast::Query| {
        let query = Statement::Statement(Box::new(ast::Statement::Query(Box::new(query))));
        Some(plan(query).ok()?.schema().fields().len())
    };
    let TableObject::TableName(table) = &insert.table else { return None };
    let given = counted(columns_of(insert.source.as_deref()?.clone())?);
    let name = &table.0.last().and_then(ObjectNamePart::as_ident)?.value;
    Some(match insert.columns.len() {
        0 => {
            let wanted = columns_of(query_of(&format!("SELECT * FROM {table}")).ok()?)?;
            format!("the query gives {given}, and \"{name}\" has {}", counted(wanted))
        }
        named => format!("the query gives {given}, and the INSERT into \"{name}\" names {}", counted(named)),
    })
}

fn insert_in(statement: &Statement) -> Option<&Insert> {
    match statement {
        Statement::Statement(statement) => in_sql(statement),
        Statement::Explain(explain) => insert_in(&explain.statement),
        _ => None,
    }
}

fn in_sql(statement: &ast::Statement) -> Option<&Insert> {
    match statement {
        ast::Statement::Insert(insert) => Some(insert),
        ast::Statement::Prepare { statement, .. } => in_sql(statement),
        _ => None,
    }
}

fn counted(columns: usize) -> String {
    format!("{columns} {}", if columns == 1 { "column" } else { "columns" })
}
