//! `ORDER BY ALL` orders by each column of the SELECT list, from the left: `ORDER BY 1, 2, …`.

use datafusion::sql::sqlparser::ast::{Expr, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value};

use common::error::EngineError;

/// Changes the query in place.
///
/// # Errors
///
/// The number of columns is not known before the statement is planned.
pub fn number_all(query: &mut Query) -> Result<(), EngineError> {
    let Some(order_by) = &mut query.order_by else { return Ok(()) };
    let OrderByKind::All(options) = &order_by.kind else { return Ok(()) };
    let Some(count) = column_count(&query.body) else {
        return Err(EngineError::unsupported("ORDER BY ALL of *", Some("name the columns, or count them as in ORDER BY 1, 2")));
    };
    let key =
        |number: usize| OrderByExpr { expr: Expr::value(Value::Number(number.to_string(), false)), options: *options, with_fill: None };
    order_by.kind = OrderByKind::Expressions((1..=count).map(key).collect());
    Ok(())
}

fn column_count(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_single = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_single).then_some(select.projection.len())
        }
        SetExpr::Query(query) => column_count(&query.body),
        SetExpr::SetOperation { left, .. } => column_count(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}
