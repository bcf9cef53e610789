//! Gives a type to an untyped NULL where DataFusion needs one: `ts + NULL`, `NULL & NULL`, `list || NULL`, `(max(NULL))[1:2]`, `(NULL)[lower('A')]`;
//! and to the parameter of `ts + ?`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, cast, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::nested_types::map_of_nulls;

/// Runs before the other planners, which do the rest.
#[derive(Debug)]
pub struct UntypedNulls;

impl ExprPlanner for UntypedNulls {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::Plus {
            become_interval(&mut expr.left, &expr.right, schema);
            become_interval(&mut expr.right, &expr.left, schema);
        }
        // A parameter may be a time here.
        if expr.op == BinaryOperator::Minus && is_null(&expr.right) {
            become_interval(&mut expr.right, &expr.left, schema);
        }
        if is_of_bits(&expr.op) && is_null(&expr.left) && is_null(&expr.right) {
            expr.left = lit(ScalarValue::Int64(None));
        }
        if expr.op == BinaryOperator::StringConcat {
            become_operand(&mut expr.left, &expr.right, schema);
            become_operand(&mut expr.right, &expr.left, schema);
        }
        Ok(PlannerResult::Original(expr))
    }

    fn plan_field_access(&self, mut expr: RawFieldAccessExpr, schema: &DFSchema) -> Result<PlannerResult<RawFieldAccessExpr>> {
        match &expr.field_access {
            // It goes with lists of any type.
            GetFieldAccess::ListRange { .. } if is_null(&expr.expr) => return Ok(PlannerResult::Planned(lit(ScalarValue::Null))),
            GetFieldAccess::ListRange { .. } if is_untyped(&expr.expr, schema) => {
                expr.expr = cast(expr.expr, DataType::new_list(DataType::Int32, true));
            }
            GetFieldAccess::ListIndex { key }
                if key.get_type(schema).is_ok_and(|key| key.is_string()) && is_untyped(&expr.expr, schema) =>
            {
                expr.expr = cast(expr.expr, map_of_nulls(DataType::Utf8));
            }
            _ => {}
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn is_of_bits(op: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(op, BitwiseAnd | BitwiseOr | BitwiseXor | PGBitwiseXor | PGBitwiseShiftLeft | PGBitwiseShiftRight)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Null, _))
}

/// DataFusion would give a NULL or a parameter the type of the other side, and it cannot add a time to a time.
fn become_interval(operand: &mut Expr, other: &Expr, schema: &DFSchema) {
    let is_time = |data_type: DataType| matches!(data_type, DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_));
    // Checked first, because the types of long sums are slow to find.
    let takes_type = is_null(operand) || matches!(operand, Expr::Placeholder(parameter) if parameter.field.is_none());
    if !takes_type || !other.get_type(schema).is_ok_and(is_time) {
        return;
    }
    let null = ScalarValue::IntervalMonthDayNano(None);
    match operand {
        Expr::Placeholder(parameter) => parameter.field = Some(Arc::new(Field::new("", null.data_type(), true))),
        operand => *operand = lit(null),
    }
}

/// Beside a list, NULL is a list and not an element, as in PostgreSQL.
fn become_operand(null: &mut Expr, other: &Expr, schema: &DFSchema) {
    if !is_null(null) {
        return;
    }
    match other.get_type(schema) {
        Ok(list) if list.is_list() => *null = cast(lit(ScalarValue::Null), list),
        _ if is_untyped(other, schema) => *null = lit(ScalarValue::Utf8(None)),
        _ => {}
    }
}

/// A parameter is not untyped: it has the type of its value.
fn is_untyped(expr: &Expr, schema: &DFSchema) -> bool {
    let has_parameter = expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_)))).unwrap_or(true);
    !has_parameter && expr.get_type(schema).is_ok_and(|data_type| data_type.is_null())
}
