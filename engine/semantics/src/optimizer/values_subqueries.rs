//! VALUES with subqueries.
//!
//! DataFusion evaluates rows of VALUES when it makes operators of them, before any subquery has run. Here a projection above the rows
//! computes such a value for its row, by the row's number.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::logical_plan::{Projection, Values};
use datafusion::logical_expr::{Case, Expr, ExprSchemable, LogicalPlan, lit};

const NUMBER: &str = "__row";

/// Runs once the rows have one type.
pub fn values_subqueries(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Values(values) if values.values.iter().flatten().any(has_subquery) => {
            found = true;
            Ok(Transformed::yes(computed_above(values)?))
        }
        // Columns above may be nullable now.
        plan if found => Ok(Transformed::yes(plan.recompute_schema()?)),
        plan => Ok(Transformed::no(plan)),
    });
    plan.data()
}

/// Whether it contains a subquery of any kind.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    // The walk itself cannot fail.
    expr.exists(|part| Ok(matches!(part, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_))))
        .unwrap_or(true)
}

fn computed_above(mut values: Values) -> Result<LogicalPlan> {
    let schema = Arc::clone(&values.schema);
    let nothing = DFSchema::empty();
    let mut computed: Vec<Vec<(usize, Expr)>> = vec![Vec::new(); schema.fields().len()];
    for (number, row) in values.values.iter_mut().enumerate() {
        for (expr, computed) in row.iter_mut().zip(&mut computed).filter(|(expr, _)| has_subquery(expr)) {
            let null = lit(ScalarValue::try_new_null(&expr.get_type(&nothing)?)?);
            computed.push((number, std::mem::replace(expr, null)));
        }
        row.push(lit(number as u64));
    }
    let fields = schema.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::new(field.as_ref().clone().with_nullable(true))));
    let number = Arc::new(Field::new(NUMBER, DataType::UInt64, false));
    let fields = fields.chain(std::iter::once((None, number))).collect();
    values.schema = Arc::new(DFSchema::new_with_metadata(fields, schema.metadata().clone())?);
    let columns = schema.columns().into_iter().zip(computed).map(|(column, computed)| {
        if computed.is_empty() {
            return Expr::Column(column);
        }
        let name = column.name.clone();
        let rows = computed.into_iter().map(|(number, expr)| (Box::new(lit(number as u64)), Box::new(expr))).collect();
        let number = Expr::Column(Column::new_unqualified(NUMBER));
        let value = Case { expr: Some(Box::new(number)), when_then_expr: rows, else_expr: Some(Box::new(Expr::Column(column))) };
        Expr::Case(value).alias(name)
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(LogicalPlan::Values(values)))?))
}
