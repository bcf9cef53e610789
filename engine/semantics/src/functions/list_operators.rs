//! `l || 1.5` and `1.5 || l`: DataFusion's planner calls its own functions; this one calls those that the session has registered. It also
//! plans `l && l`.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::functions_nested::expr_fn::array_has_any;
use datafusion::functions_nested::planner::NestedFunctionPlanner;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::functions::bounded::counted;
use crate::functions::of_elements;

#[derive(Debug)]
pub struct ListOperators;

impl ExprPlanner for ListOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let mut planned = match expr.op {
            BinaryOperator::PGOverlap => overlap(expr, schema)?,
            _ => NestedFunctionPlanner.plan_binary_op(expr, schema)?,
        };
        if let PlannerResult::Planned(Expr::ScalarFunction(call)) = &mut planned
            && let Some(function) = of_elements(&call.func)
        {
            call.func = Arc::new(counted(function));
        }
        Ok(planned)
    }
}

/// Whether two lists have an element in common, as in PostgreSQL.
fn overlap(expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    let types = [expr.left.get_type(schema)?, expr.right.get_type(schema)?];
    if !types.iter().all(|data_type| data_type.is_list() || data_type.is_null()) {
        return plan_err!("&& takes two lists; AND joins conditions");
    }
    Ok(PlannerResult::Planned(array_has_any(expr.left, expr.right)))
}
