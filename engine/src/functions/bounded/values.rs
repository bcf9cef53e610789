//! Rows of VALUES that are not constants when the plan is otherwise finished. DataFusion computes VALUES while it makes operators;
//! what makes much is computed by an operator, as in a SELECT.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{EmptyRelation, Expr, LogicalPlan, Projection, Union, Values, Volatility};

use super::function::is_bounded;

/// With more rows than this a plan of an operator for each would be larger than what it computes.
const ROWS_MAX: usize = 1_000;

/// The plan with such rows as projections; None if it has none.
pub fn with_computed_values(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let is_such = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Values(values) if is_computed(values)));
    if !plan.exists(is_such)? {
        return Ok(None);
    }
    let computed = plan.clone().transform_up(|node| match node {
        LogicalPlan::Values(values) if is_computed(&values) => projections(values).map(Transformed::yes),
        other => Ok(Transformed::no(other)),
    });
    computed.data().map(Some)
}

fn is_computed(values: &Values) -> bool {
    let rows = values.values.iter();
    values.values.len() <= ROWS_MAX && rows.flatten().any(|expr| expr.exists(|part| Ok(makes_much(part))).unwrap_or(false))
}

/// Those that give another value each time are no constants however small they are.
fn makes_much(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if is_bounded(&call.func) && call.func.signature().volatility != Volatility::Volatile)
}

fn projections(values: Values) -> Result<LogicalPlan> {
    let Values { schema, values } = values;
    let rows = values.into_iter().map(|row| {
        let one = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema: Arc::new(DFSchema::empty()) });
        let named = row.into_iter().zip(schema.fields()).map(|(expr, field)| expr.alias(field.name()));
        let row = Projection::try_new_with_schema(named.collect(), Arc::new(one), Arc::clone(&schema))?;
        Ok(Arc::new(LogicalPlan::Projection(row)))
    });
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    match rows.len() {
        1 => Ok(Arc::unwrap_or_clone(rows.remove(0))),
        _ => Ok(LogicalPlan::Union(Union { inputs: rows, schema })),
    }
}
