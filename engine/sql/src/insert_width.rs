//! An INSERT whose query has another number of columns than the target list.

use datafusion::common::{DataFusionError, Diagnostic, Result, Span};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Insert, ObjectNamePart, SetExpr, Spanned, TableObject};

use super::fragments::query_of;
use common::error::EngineError;

/// The error with both counts and the position, if the query can be planned and the counts differ; otherwise the original error. `plan`
/// plans a query.
pub fn wrong_width(statement: &Statement, error: DataFusionError, plan: impl Fn(Statement) -> Result<LogicalPlan>) -> DataFusionError {
    // DataFusion gives this error the general type of planning errors.
    if !matches!(error.find_root(), DataFusionError::Plan(_)) {
        return error;
    }
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
    let name = &table.0.last().and_then(ObjectNamePart::as_ident)?.value;
    // DataFusion counts VALUES by row.
    let source = insert.source.as_deref().filter(|source| !matches!(source.body.as_ref(), SetExpr::Values(_)))?;
    let (given, all) = (columns_of(source.clone())?, columns_of(query_of(&format!("SELECT * FROM {table}")).ok()?)?);
    match insert.columns.len() {
        0 if given != all => Some(format!("the query gives {}, and \"{name}\" has {}", counted(given), counted(all))),
        named if named > 0 && given != named => {
            Some(format!("the query gives {}, and the INSERT into \"{name}\" names {}", counted(given), counted(named)))
        }
        _ => None,
    }
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
