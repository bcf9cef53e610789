//! `DEFAULT` among the VALUES of an INSERT, and `DEFAULT VALUES`: replaced by the column's expression. Also marks lists for a tensor
//! column as tensors, because DataFusion knows the types of the columns, but not their shapes.
//!
//! For columns that an INSERT does not name, DataFusion asks the table for the defaults.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::TableReference;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{self, CastKind, Expr, Insert, ObjectName, SetExpr, TableObject, Values};

use crate::execution::StatementContext;
use common::error::EngineError;
use common::tensor_shape::shape_of;
use common::type_names::column_type_name;
use sql::fragments::type_of;
use sql::walk::sql_statement_mut;
use table::catalog::resolve;
use table::constraints::{default_expr, identifier};

/// Also if the INSERT is inside of EXPLAIN or PREPARE.
pub fn fill_defaults(ctx: &StatementContext, statement: &mut Statement) -> Result<(), EngineError> {
    sql_statement_mut(statement).map_or(Ok(()), |statement| fill(ctx, statement))
}

fn fill(ctx: &StatementContext, statement: &mut ast::Statement) -> Result<(), EngineError> {
    match statement {
        ast::Statement::Insert(insert) => in_insert(ctx, insert),
        ast::Statement::Prepare { statement, .. } | ast::Statement::Explain { statement, .. } => fill(ctx, statement),
        // WITH … INSERT
        ast::Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Insert(statement) => fill(ctx, statement),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn in_insert(ctx: &StatementContext, insert: &mut Insert) -> Result<(), EngineError> {
    let is_default_values = insert.source.is_none() && insert.assignments.is_empty() && insert.format_clause.is_none();
    let values = insert.source.as_mut().and_then(|source| match source.body.as_mut() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    });
    let has_default = values.as_ref().is_some_and(|values| values.rows.iter().any(|row| row.content.iter().any(is_default)));
    let has_list = values.as_ref().is_some_and(|values| values.rows.iter().any(|row| row.content.iter().any(is_list)));
    if !is_default_values && !has_default && !has_list {
        return Ok(());
    }
    // If there is no such table, planning gives the better error.
    let TableObject::TableName(name) = &insert.table else { return Ok(()) };
    let reference = TableReference::parse_str(&name.to_string());
    let (schema, defaults) = match ctx.catalog.temporary().named(&reference) {
        Some(table) => (Arc::clone(&table.schema), vec![Expr::value(ast::Value::Null); table.schema.fields().len()]),
        None => {
            let (namespace, name) = resolve(&reference)?;
            let Some(table) = ctx.catalog.snapshot().table(&namespace, &name)? else { return Ok(()) };
            (Arc::clone(table.schema()), table.columns().iter().map(default_expr).collect::<Result<Vec<_>, _>>()?)
        }
    };
    match values {
        Some(values) => in_values(&schema, &defaults, &insert.columns, values),
        None => insert.source = Some(Box::new(values_query(defaults))),
    }
    Ok(())
}

fn in_values(schema: &Schema, defaults: &[Expr], named: &[ObjectName], values: &mut Values) {
    let places: Vec<Option<usize>> = match named {
        [] => (0..defaults.len()).map(Some).collect(),
        named => named.iter().map(|name| place_of(schema, name)).collect(),
    };
    for row in &mut values.rows {
        for (place, expr) in places.iter().zip(&mut row.content).filter(|(_, expr)| is_default(expr)) {
            if let Some(default) = place.and_then(|place| defaults.get(place)) {
                *expr = default.clone();
            }
        }
    }
    for (index, place) in places.iter().enumerate() {
        let Some(field) = place.and_then(|place| schema.fields().get(place)) else { continue };
        let is_given = values.rows.iter().any(|row| row.content.get(index).is_some_and(is_list));
        if is_given && shape_of(field).is_some() {
            as_tensors(field, index, values);
        }
    }
}

/// All rows or none: DataFusion requires the values of a column to have one type.
fn as_tensors(field: &Field, index: usize, values: &mut Values) {
    let Ok(data_type) = type_of(&column_type_name(field)) else { return };
    for expr in values.rows.iter_mut().filter_map(|row| row.content.get_mut(index)) {
        let value = Box::new(std::mem::replace(expr, Expr::value(ast::Value::Null)));
        *expr = Expr::Cast { kind: CastKind::Cast, expr: value, data_type: data_type.clone(), array: false, format: None };
    }
}

fn is_list(expr: &Expr) -> bool {
    matches!(expr, Expr::Array(_))
}

fn place_of(schema: &Schema, name: &ObjectName) -> Option<usize> {
    let name = identifier(name.0.last()?.as_ident()?);
    schema.index_of(&name).ok()
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
