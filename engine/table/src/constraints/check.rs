//! CHECK: a condition that must not be false for any row.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::reassign_expr_columns;

use super::context::RuleContext;
use super::expression::PlannedExpr;
use super::key::shown_value;
use common::error::EngineError;
use common::type_names::plain::sql_type_name;

#[derive(Debug, Clone)]
pub struct Check {
    pub constraint: String,
    pub sql: String,
    /// Positions in the table.
    pub columns: Vec<usize>,
    names: Vec<String>,
    /// The check depends on the statement's time: `expr` is only valid for one statement.
    pub is_of_its_time: bool,
    /// Over those columns only.
    expr: Arc<dyn PhysicalExpr>,
}

impl Check {
    pub fn new(context: &RuleContext, constraint: &str, sql: &str, schema: &Schema) -> Result<Check> {
        let planned = PlannedExpr::of(context, sql, schema, "CHECK")?;
        if planned.expr.is_volatile() {
            let hint = "a row that is allowed must stay so: use functions whose result depends on the row alone";
            return Err(EngineError::unsupported(format!("CHECK ({sql}), which is by chance,"), Some(hint)).into_datafusion());
        }
        let is_of_its_time = planned.expr.exists(|expr| Ok(is_of_its_time(expr)))?;
        let physical = planned.physical(context)?;
        let data_type = physical.data_type(schema)?;
        if !matches!(data_type, DataType::Boolean | DataType::Null) {
            let message = format!("CHECK ({sql}) is of type {}", sql_type_name(&data_type));
            let hint = Some("write a condition, which is true or false".into());
            return Err(EngineError::Sql { message, position: None, hint }.into_datafusion());
        }
        let columns = planned.columns();
        let read = Arc::new(schema.project(&columns)?);
        Ok(Check {
            constraint: constraint.to_string(),
            sql: sql.to_string(),
            names: read.fields().iter().map(|field| field.name().clone()).collect(),
            is_of_its_time,
            expr: reassign_expr_columns(physical, &read)?,
            columns,
        })
    }

    /// The first row of `batch` that `is_row` selects and for which the condition is false; `batch` has the check's columns.
    pub fn broken(&self, batch: &RecordBatch, is_row: impl Fn(usize) -> bool) -> Result<Option<usize>> {
        let values = self.expr.evaluate(batch)?.into_array(batch.num_rows())?;
        if values.data_type() == &DataType::Null {
            return Ok(None);
        }
        let values = as_boolean_array(&values)?;
        // NULL satisfies a check.
        Ok((0..values.len()).find(|row| values.is_valid(*row) && !values.value(*row) && is_row(*row)))
    }

    /// `CHECK (a > 0), constraint "t_a_check"`
    pub fn described(&self) -> String {
        format!("CHECK ({}), constraint \"{}\"", self.sql, self.constraint)
    }

    /// `(a) = (-1)`
    pub fn shown(&self, batch: &RecordBatch, row: usize) -> String {
        let values: Vec<String> = batch.columns().iter().map(|column| shown_value(column, row)).collect();
        format!("({}) = ({})", self.names.join(", "), values.join(", "))
    }
}

/// Whether it contains `now()` or a similar function, which becomes a constant when the check is planned.
fn is_of_its_time(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(function) if function.func.signature().volatility != Volatility::Immutable)
}
