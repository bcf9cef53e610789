//! Rows of VALUES that are still not constant when the plan is otherwise finished. DataFusion evaluates VALUES while it makes operators.
//! Expressions with large results are evaluated by an operator above them instead, as in a SELECT.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Values, Volatility, lit};

use super::function::is_bounded;

/// Each such row is a branch of a CASE, and all rows after it test that branch.
const ROWS_MAX: usize = 1_000;

/// The plan with such rows computed by an operator; `None` if it has none.
pub fn with_computed_values(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let is_such = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Values(values) if is_computed(values)));
    if !plan.exists(is_such)? {
        return Ok(None);
    }
    let computed = plan.clone().transform_up(|node| match node {
        LogicalPlan::Values(values) if is_computed(&values) => projection(values).map(Transformed::yes),
        other => Ok(Transformed::no(other)),
    });
    computed.data().map(Some)
}

fn is_computed(values: &Values) -> bool {
    values.values.len() <= ROWS_MAX && values.values.iter().flatten().any(makes_much)
}

/// Volatile calls do not count: they are never constant, which says nothing about the size of their results.
fn makes_much(expr: &Expr) -> bool {
    let is_such = |part: &Expr| match part {
        Expr::ScalarFunction(call) => is_bounded(&call.func) && call.func.signature().volatility != Volatility::Volatile,
        _ => false,
    };
    expr.exists(|part| Ok(is_such(part))).unwrap_or(false)
}

/// The constants stay in VALUES, with a row number in front. The number selects the expression to compute.
fn projection(values: Values) -> Result<LogicalPlan> {
    let Values { schema, values } = values;
    let column = |place: usize| Column::new_unqualified(place.to_string());
    let mut computed = vec![Vec::new(); schema.fields().len()];
    let mut rows = Vec::with_capacity(values.len());
    for (number, row) in values.into_iter().enumerate() {
        let number = lit(number as u64);
        let mut constants = vec![number.clone()];
        for ((cell, field), computed) in row.into_iter().zip(schema.fields()).zip(&mut computed) {
            if makes_much(&cell) {
                constants.push(Expr::Literal(ScalarValue::try_new_null(field.data_type())?, None));
                computed.push((Box::new(number.clone()), Box::new(cell)));
            } else {
                constants.push(cell);
            }
        }
        rows.push(constants);
    }
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let fields = std::iter::once(Field::new("", DataType::UInt64, false)).chain(fields);
    let fields = fields.enumerate().map(|(place, field)| field.with_name(place.to_string())).collect::<Vec<_>>();
    let constants = Values { schema: Arc::new(DFSchema::try_from(Schema::new(fields))?), values: rows };
    let columns = computed.into_iter().zip(schema.fields()).enumerate().map(|(place, (computed, field))| {
        let constant = Expr::Column(column(place + 1));
        let chosen = match computed.is_empty() {
            true => constant,
            false => Expr::Case(Case::new(Some(Box::new(Expr::Column(column(0)))), computed, Some(Box::new(constant)))),
        };
        chosen.alias(field.name())
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new_with_schema(columns, Arc::new(LogicalPlan::Values(constants)), schema)?))
}
