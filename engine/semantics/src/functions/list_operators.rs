//! `l || 1.5` and `1.5 || l`: DataFusion's planner calls its own functions; this one calls those that the session has registered.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result};
use datafusion::functions_nested::planner::NestedFunctionPlanner;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};

use crate::functions::bounded::counted;
use crate::functions::of_elements;

#[derive(Debug)]
pub struct ListOperators;

impl ExprPlanner for ListOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let mut planned = NestedFunctionPlanner.plan_binary_op(expr, schema)?;
        if let PlannerResult::Planned(Expr::ScalarFunction(call)) = &mut planned
            && let Some(function) = of_elements(&call.func)
        {
            call.func = Arc::new(counted(function));
        }
        Ok(planned)
    }
}
