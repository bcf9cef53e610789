//! A NULL of no type where DataFusion looks for one: `ts + NULL`, `(NULL)[1:2]`.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, cast, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// It stands before the planners that it leaves the rest to.
#[derive(Debug)]
pub struct UntypedNulls;

impl ExprPlanner for UntypedNulls {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::Plus {
            become_interval(&mut expr.left, &expr.right, schema);
            become_interval(&mut expr.right, &expr.left, schema);
        }
        Ok(PlannerResult::Original(expr))
    }

    fn plan_field_access(&self, mut expr: RawFieldAccessExpr, schema: &DFSchema) -> Result<PlannerResult<RawFieldAccessExpr>> {
        if matches!(expr.field_access, GetFieldAccess::ListRange { .. }) && is_untyped(&expr.expr, schema) {
            expr.expr = cast(expr.expr, DataType::new_list(DataType::Int32, true));
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// DataFusion gives it the type of the other side, and adds no time to a time.
fn become_interval(null: &mut Expr, other: &Expr, schema: &DFSchema) {
    // The types of long sums are not looked for.
    let is_null = matches!(null, Expr::Literal(ScalarValue::Null, _));
    let is_time = |data_type: DataType| matches!(data_type, DataType::Date32 | DataType::Timestamp(..));
    if is_null && other.get_type(schema).is_ok_and(is_time) {
        *null = lit(ScalarValue::IntervalMonthDayNano(None));
    }
}

/// A parameter has the type of its value.
fn is_untyped(expr: &Expr, schema: &DFSchema) -> bool {
    let has_parameter = expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_)))).unwrap_or(true);
    !has_parameter && expr.get_type(schema).is_ok_and(|data_type| data_type.is_null())
}
