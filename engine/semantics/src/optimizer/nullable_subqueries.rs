//! `(SELECT k FROM t WHERE …)` is NULL if no row is found, even if `k` is NOT NULL.
//!
//! DataFusion treats the subquery as NOT NULL then (expr_schema.rs: `nullable` of a scalar subquery is that of its column):
//! `(SELECT k …) IS NULL` was false, and `coalesce((SELECT k …), 0)` an error. So a function that may return NULL wraps the subquery.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::logical_plan::{EmptyRelation, Projection, SubqueryAlias};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::functions::map_under_names;

static NULLABLE: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(Nullable { signature: Signature::any(1, Volatility::Immutable) })));

pub fn nullable_subqueries(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    plan.transform_up_with_subqueries(|part| {
        let part = map_under_names(part, |expr| expr.transform_up(in_expr))?;
        found |= part.transformed;
        // Columns above may be nullable now.
        if found { Ok(Transformed::yes(part.data.recompute_schema()?)) } else { Ok(part) }
    })
    .data()
}

fn in_expr(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(subquery) = expr else { return Ok(Transformed::no(expr)) };
    let plan = &subquery.subquery;
    if has_row(plan) || plan.schema().iter().next().is_none_or(|(_, field)| field.is_nullable()) {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    // The function is outside of the subquery: a literal inside would stay a literal.
    Ok(Transformed::yes(NULLABLE.call(vec![Expr::ScalarSubquery(subquery)])))
}

fn has_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. }) | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => has_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row, .. }) => *produce_one_row,
        _ => false,
    }
}

/// Returns its argument.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Nullable {
    signature: Signature,
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &str {
        "nullable"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    /// Removes the function around a nullable column of a join, which a correlated subquery has become.
    fn simplify(&self, mut args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(if info.nullable(&args[0])? { ExprSimplifyResult::Simplified(args.swap_remove(0)) } else { ExprSimplifyResult::Original(args) })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args.swap_remove(0))
    }
}
