//! `DEFAULT` among the VALUES of an INSERT, and `DEFAULT VALUES`: the column's expression in its place.
//!
//! Columns that an INSERT does not name get theirs from DataFusion, which asks the table.

use datafusion::common::TableReference;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Expr, Insert, ObjectName, SetExpr, TableObject, Values};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use pmem_store::TableSnapshot;

use super::ddl::resolve;
use crate::constraints::{default_expr, identifier};
use crate::error::EngineError;
use crate::session::Running;

/// Also where the INSERT is explained or prepared.
pub fn fill_defaults(running: &Running, statement: &mut Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Statement(statement) => fill(running, statement),
        Statement::Explain(explain) => fill_defaults(running, &mut explain.statement),
        _ => Ok(()),
    }
}

fn fill(running: &Running, statement: &mut ast::Statement) -> Result<(), EngineError> {
    match statement {
        ast::Statement::Insert(insert) => in_insert(running, insert),
        ast::Statement::Prepare { statement, .. } | ast::Statement::Explain { statement, .. } => fill(running, statement),
        // WITH … INSERT
        ast::Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Insert(statement) => fill(running, statement),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn in_insert(running: &Running, insert: &mut Insert) -> Result<(), EngineError> {
    let is_default_values = insert.source.is_none() && insert.assignments.is_empty() && insert.format_clause.is_none();
    let values = insert.source.as_mut().and_then(|source| match source.body.as_mut() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    });
    let has_default = values.as_ref().is_some_and(|values| values.rows.iter().any(|row| row.content.iter().any(is_default)));
    if !is_default_values && !has_default {
        return Ok(());
    }
    // What there is no such table for, planning says better.
    let TableObject::TableName(name) = &insert.table else { return Ok(()) };
    let (namespace, name) = resolve(&TableReference::parse_str(&name.to_string()))?;
    let Some(table) = running.catalog.snapshot().table(&namespace, &name)? else { return Ok(()) };
    if let Some(values) = values {
        return in_values(&table, &insert.columns, values);
    }
    let row = table.columns().iter().map(default_expr).collect::<Result<Vec<_>, _>>()?;
    insert.source = Some(Box::new(values_query(row)));
    Ok(())
}

fn in_values(table: &TableSnapshot, named: &[ObjectName], values: &mut Values) -> Result<(), EngineError> {
    let places: Vec<Option<usize>> = match named {
        [] => (0..table.columns().len()).map(Some).collect(),
        named => named.iter().map(|name| place_of(table, name)).collect(),
    };
    for row in &mut values.rows {
        for (place, expr) in places.iter().zip(&mut row.content).filter(|(_, expr)| is_default(expr)) {
            if let Some(column) = place.and_then(|place| table.columns().get(place)) {
                *expr = default_expr(column)?;
            }
        }
    }
    Ok(())
}

fn place_of(table: &TableSnapshot, name: &ObjectName) -> Option<usize> {
    let name = identifier(name.0.last()?.as_ident()?);
    table.schema().index_of(&name).ok()
}

fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

fn values_query(row: Vec<Expr>) -> ast::Query {
    let row = ast::Parens { opening_token: AttachedToken::empty(), content: row, closing_token: AttachedToken::empty() };
    let values = Values { explicit_row: false, value_keyword: false, rows: vec![row] };
    ast::Query {
        with: None,
        body: Box::new(SetExpr::Values(values)),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
