//! Statistics of a column do not hold for a cast of it with another order, and a nested constant has none.
//!
//! DataFusion's projection operator casts the minimum and maximum of the column and uses them as those of the cast. Of 2, 3 and 10 as
//! texts, '10' was the maximum: `max` returned it, and a filter found no value in between. A function has no such statistics, so the cast
//! becomes one at the end of planning.
//!
//! A constant list, struct or map becomes a function, too. DataFusion treats a column of it as sorted and as its own minimum and maximum,
//! and compares such values one by one, though they have no order (`ScalarValue::partial_cmp` is `None` for lists of structs):
//! `SELECT DISTINCT` and a filter next to it failed.

use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

use crate::functions::nested_order::constant;
use crate::functions::{cast_function, map_under_names};

/// The plan with functions instead of such casts and constants; `None` if it has none.
pub fn with_operator_columns(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut found = false;
    plan.apply_with_subqueries(|part| {
        found |= has_other_order(part);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(None);
    }
    let changed = plan.clone().transform_up_with_subqueries(|part| match &part {
        LogicalPlan::Projection(Projection { input, .. }) if has_other_order(&part) => {
            let schema = Arc::clone(input.schema());
            map_under_names(part, |expr| as_function(expr, &schema))
        }
        _ => Ok(Transformed::no(part)),
    });
    changed.data().map(Some)
}

fn has_other_order(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = plan else { return false };
    expr.iter().any(|expr| changes_order(expr, input.schema()))
}

/// Whether one of the nested casts changes the order, or the expression is a constant without an order.
fn changes_order(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Alias(alias) => changes_order(&alias.expr, schema),
        Expr::Literal(value, None) => value.data_type().is_nested() && !value.is_null(),
        Expr::Cast(cast) => {
            let keeps = cast.expr.get_type(schema).is_ok_and(|from| keeps_order(&from, cast.field.data_type()));
            !keeps || changes_order(&cast.expr, schema)
        }
        _ => false,
    }
}

fn keeps_order(from: &DataType, to: &DataType) -> bool {
    let is_number = |data_type: &DataType| data_type.is_numeric() || *data_type == DataType::Boolean;
    from == to
        // The planner reports unsupported casts.
        || !can_cast_types(from, to)
        || (is_number(from) && to.is_numeric())
        || (from.is_temporal() && to.is_temporal())
        || (from.is_string() && to.is_string())
        || (from.is_binary() && to.is_binary())
}

/// The outermost cast, or the constant, as a function.
fn as_function(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Alias(_) => expr.map_children(|inner| as_function(inner, schema)),
        expr if !changes_order(&expr, schema) => Ok(Transformed::no(expr)),
        Expr::Literal(value, _) => Ok(Transformed::yes(constant::of(value))),
        Expr::Cast(cast) => {
            let (_, source) = cast.expr.to_field(schema)?;
            let function = cast_function(source, cast.field, false);
            Ok(Transformed::yes(function.call(vec![*cast.expr])))
        }
        expr => Ok(Transformed::no(expr)),
    }
}
