//! An INSERT whose query has another number of columns than the target list.

use datafusion::common::{DataFusionError, Diagnostic, Result, Span};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Insert, ObjectNamePart, SetExpr, Spanned, TableObject};

use super::fragments::query_of;
use crate::walk::sql_statement;
use common::error::EngineError;

/// The error with both counts and the position, if the query can be planned and the counts differ; otherwise the original error. `plan`
/// plans a query.
pub fn wrong_width(statement: &Statement, error: DataFusionError, plan: impl Fn(Statement) -> Result<LogicalPlan>) -> DataFusionError {
    // DataFusion gives this error the general type of planning errors.
    if !matches!(error.find_root(), DataFusionError::Plan(_)) {
        return error;
    }
    let Some(insert) = sql_statement(statement).and_then(insert_in) else { return error };
    let Some(message) = counts(insert, plan) else { return error };
    let span = insert.source.as_ref().and_then(|query| Span::try_from_sqlparser_span(query.span()));
    let diagnostic = Diagnostic::new_error(message.clone(), span);
    let hint = Some("give a value for each column, or name the columns".to_string());
    EngineError::Sql { message, position: None, hint }.into_datafusion().with_diagnostic(diagnostic)
}

/// Plans the query to count its columns. If the INSERT names no columns, a query of the table is planned to count the table's.
fn counts(insert: &Insert, plan: impl Fn(Statement) -> Result<LogicalPlan>) -> Option<String> {
    let columns_of = |query: ast::Query| {
        let query = Statement::Statement(Box::new(ast::Statement::Query(Box::new(query))));
        Some(plan(query).ok()?.schema().fields().len())
    };
    let TableObject::TableName(table) = &insert.table else { return None };
    let name = &table.0.last().and_then(ObjectNamePart::as_ident)?.value;
    // DataFusion counts VALUES by row.
    let source = insert.source.as_deref().filter(|source| !matches!(source.body.as_ref(), SetExpr::Values(_)))?;
    let source_width = columns_of(source.clone())?;
    let (target_width, target) = match insert.columns.len() {
        0 => (columns_of(query_of(&format!("SELECT * FROM {table}")).ok()?)?, format!("\"{name}\" has")),
        width => (width, format!("the INSERT into \"{name}\" names")),
    };
    let message = || format!("the query gives {}, and {target} {}", width_text(source_width), width_text(target_width));
    (source_width != target_width).then(message)
}

fn insert_in(statement: &ast::Statement) -> Option<&Insert> {
    match statement {
        ast::Statement::Insert(insert) => Some(insert),
        ast::Statement::Prepare { statement, .. } => insert_in(statement),
        _ => None,
    }
}

fn width_text(columns: usize) -> String {
    format!("{columns} {}", if columns == 1 { "column" } else { "columns" })
}
