//! DEFAULT: the value of a column that a statement omits.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast;
use pmem_store::{ColumnInfo, TableSnapshot};

use super::context::RuleContext;
use super::expression::{PlannedExpr, parsed};
use super::shapes::check_shape;
use common::error::EngineError;

/// The planned defaults of a table's columns; each is evaluated for each row that it fills.
pub fn planned_defaults(context: &RuleContext, table: &TableSnapshot) -> Vec<Option<Expr>> {
    let columns = table.columns().iter().zip(table.schema().fields());
    columns.map(|(column, field)| column.default_sql.as_deref().map(|sql| planned_or_error(context, sql, field.name()))).collect()
}

/// A default that can no longer be planned becomes a missing column: statements that use it fail, and
/// other statements are not affected.
fn planned_or_error(context: &RuleContext, sql: &str, column: &str) -> Expr {
    match PlannedExpr::of(context, sql, &Schema::empty(), "DEFAULT") {
        Ok(planned) => planned.expr,
        Err(error) => {
            let error = EngineError::from(error);
            Expr::Column(Column::new_unqualified(format!("DEFAULT {sql} of {column}: {error}")))
        }
    }
}

/// Checks a default when it is declared: its value must have the column's type and shape. Returns a value, and whether it is the same for
/// every row.
pub fn default_value(context: &RuleContext, sql: &str, column: &Field) -> Result<(ScalarValue, bool)> {
    let mut planned = PlannedExpr::of(context, sql, &Schema::empty(), "DEFAULT")?;
    let is_volatile = planned.expr.is_volatile();
    check_shape(column, &planned.expr.to_field(&DFSchema::empty())?.1)?;
    planned.expr = planned.expr.cast_to(column.data_type(), &DFSchema::empty())?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let value = planned.physical(context)?.evaluate(&row)?.into_array(1)?;
    Ok((ScalarValue::try_from_array(&value, 0)?, !is_volatile))
}

/// A default as part of a statement; NULL if the column has none.
pub fn default_expr(column: &ColumnInfo) -> Result<ast::Expr, EngineError> {
    match &column.default_sql {
        Some(sql) => Ok(ast::Expr::Nested(Box::new(parsed(sql)?))),
        None => Ok(ast::Expr::value(ast::Value::Null)),
    }
}
