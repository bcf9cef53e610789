//! The cluster key: the order in which a table stores its rows.

use arrow::datatypes::Schema;
use datafusion::common::{Column, TableReference};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, SortExpr, col};
use pmem_store::ColumnOrder;

use common::error::{EngineError, nearest};
use sql::order_clause::KeyColumn;

/// The key's columns in the schema's spelling.
pub fn key_of(schema: &Schema, key: &[KeyColumn]) -> Result<Vec<ColumnOrder>, EngineError> {
    key.iter()
        .map(|column| {
            let name = column.name.as_str();
            let names = || schema.fields().iter().map(|field| field.name().as_str());
            let exact = names().find(|field| *field == name).or_else(|| names().find(|field| field.eq_ignore_ascii_case(name)));
            match exact {
                Some(field) => {
                    let nulls_first = column.nulls_first.unwrap_or(column.descending);
                    Ok(ColumnOrder { column: field.to_string(), descending: column.descending, nulls_first })
                }
                None => {
                    let hint = nearest(name, names()).map(|near| format!("did you mean \"{near}\"?"));
                    Err(EngineError::Sql { message: format!("column \"{name}\" to order by does not exist"), position: None, hint })
                }
            }
        })
        .collect()
}

/// The plan sorted by the key, if there is one.
pub fn sorted(plan: LogicalPlan, key: &[ColumnOrder]) -> Result<LogicalPlan, EngineError> {
    if key.is_empty() {
        return Ok(plan);
    }
    let order = key.iter().map(|order| {
        let column = col(Column::new(None::<TableReference>, &order.column));
        SortExpr::new(column, !order.descending, order.nulls_first)
    });
    Ok(LogicalPlanBuilder::from(plan).sort(order.collect::<Vec<_>>())?.build()?)
}
