//! A DOUBLE meets a decimal as doubles, as in the SQL standard and every other engine.
//!
//! DataFusion would make both DECIMAL(30, 15), which has no NaN, no infinity and no 1e30: comparing
//! a DOUBLE column with 1.5 would fail on rows that hold them.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, cast, lit};
use datafusion::optimizer::AnalyzerRule;

#[derive(Debug, Default)]
pub struct FloatDecimals;

impl AnalyzerRule for FloatDecimals {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(rewrite_plan)?.data)
    }

    fn name(&self) -> &str {
        "float_decimals"
    }
}

fn rewrite_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let inputs = plan.inputs();
    if inputs.is_empty() {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&inputs);
    let names = NamePreserver::new(&plan);
    let rewritten = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let rewritten = expr.transform_up(|expr| rewrite_expr(expr, &schema))?;
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    })?;
    if rewritten.transformed {
        return rewritten.map_data(LogicalPlan::recompute_schema);
    }
    Ok(rewritten)
}

fn rewrite_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() || op.is_numerical_operators() => {
            // Types that cannot be told yet (outer columns) are left to DataFusion.
            let is_float = (floating(&left, schema), floating(&right, schema));
            let is_decimal = (decimal(&left, schema), decimal(&right, schema));
            let (left, right, changed) = match (is_float, is_decimal) {
                ((true, _), (_, true)) => (left, double(right), true),
                ((_, true), (true, _)) => (double(left), right, true),
                _ => (left, right, false),
            };
            let expr = Expr::BinaryExpr(BinaryExpr { left, op, right });
            Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
        }
        Expr::Between(Between { expr, negated, low, high }) if floating(&expr, schema) => {
            let (low, high) = (as_double(low, schema), as_double(high, schema));
            Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })))
        }
        Expr::InList(InList { expr, list, negated }) if floating(&expr, schema) => {
            let mut list: Vec<Expr> = list.into_iter().map(|item| *as_double(Box::new(item), schema)).collect();
            if list.iter().any(is_zero) {
                // Long lists are looked up by the bits of their values, and zero has two.
                list.extend([lit(0.0f64), lit(-0.0f64)]);
            }
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_zero(&cast.expr),
        Expr::Literal(value, _) => {
            matches!(value.cast_to(&DataType::Float64), Ok(ScalarValue::Float64(Some(number))) if number == 0.0)
        }
        _ => false,
    }
}

fn floating(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Float16 | DataType::Float32 | DataType::Float64))
}

fn decimal(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_decimal())
}

fn double(expr: Box<Expr>) -> Box<Expr> {
    Box::new(cast(*expr, DataType::Float64))
}

fn as_double(expr: Box<Expr>, schema: &DFSchema) -> Box<Expr> {
    if decimal(&expr, schema) { double(expr) } else { expr }
}

/// DataFusion's analyzer rules with ours before them: type coercion must find the casts made.
pub fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = datafusion::optimizer::Analyzer::new().rules;
    rules.insert(0, Arc::new(FloatDecimals));
    rules
}
