//! Puts checked functions in the place of integer operators, everywhere in a plan.
//!
//! It runs after the types are known and before anything is folded, so that constants, filters of
//! scans and arguments of aggregates are all covered. DataFusion's `fail_on_overflow` would have to
//! be set in every kind of physical operator, and would miss what the optimizer has folded by then.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;

use super::arithmetic::{checked_negation, checked_operator, is_checked};

#[derive(Debug)]
pub struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(in_plan).map(|plan| plan.data)
    }
}

fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let source = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?;
        schema.merge(&source);
    }
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let checked = expr.transform_up(|expr| in_expr(expr, &schema))?;
        Ok(if checked.transformed { checked.update_data(|expr| name.restore(expr)) } else { checked })
    })
}

fn in_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let function = checked_operator(op).filter(|_| is_integer(&left, schema) && is_integer(&right, schema));
            Ok(match function {
                Some(function) => Transformed::yes(call(function, vec![*left, *right])),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            })
        }
        Expr::Negative(inner) if is_integer(&inner, schema) => {
            Ok(Transformed::yes(call(checked_negation(), vec![*inner])))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn call(function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
}

/// What has no type here (an outer query's column that is not in this schema has one) keeps its operator.
fn is_integer(expr: &Expr, schema: &DFSchema) -> bool {
    // Without this, the type of each term of a long sum would be found from all terms before it.
    if let Expr::ScalarFunction(call) = expr
        && is_checked(&call.func)
    {
        return true;
    }
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_integer())
}
