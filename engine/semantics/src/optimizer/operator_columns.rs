//! What is known of a column is not known of a cast of it that has another order, and of a nested constant there is nothing to know.
//!
//! DataFusion's operator for a projection casts the least and the greatest value of the column and takes them for those of the cast: of 2, 3
//! and 10 as texts '10' was the greatest, with which `max` answered, and a filter found no value between both. Of a function it knows none, and
//! such a cast becomes one when nothing else looks at it any more.
//!
//! A list, struct or map that is a constant becomes one, too. DataFusion takes a column of it for sorted and for its own least and greatest
//! value, and compares such values one by one, as if they had an order (`ScalarValue::partial_cmp` is None of lists of structs): beside it
//! `SELECT DISTINCT` and a filter failed.

use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

use crate::functions::nested_order::constant;
use crate::functions::{cast_function, map_under_names};

/// The plan with functions for such casts and constants; None if it has none.
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

/// Whether one of the casts that the expression consists of does, or it is a constant that has none.
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
        // The planner says what is not supported.
        || !can_cast_types(from, to)
        || (is_number(from) && to.is_numeric())
        || (from.is_temporal() && to.is_temporal())
        || (from.is_string() && to.is_string())
        || (from.is_binary() && to.is_binary())
}

/// The outermost cast or the constant as a function.
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
