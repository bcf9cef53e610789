//! Replaces integer operators, casts to lists of fixed size, and casts from decimals to floats by checked functions everywhere in a plan,
//! and makes floats have one NaN.
//!
//! It runs after the types are known and before anything is folded, so that constants, filters of
//! scans and arguments of aggregates are all covered. DataFusion's `fail_on_overflow` would have to
//! be set in every kind of physical operator, and would miss what the optimizer has folded by then.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, WindowFunctionDefinition};
use datafusion::optimizer::AnalyzerRule;

use crate::cancel::unwatched;
use crate::functions::arithmetic::{checked_negation, checked_operator, is_checked};
use crate::functions::bounded::{concatenated, with_bounded};
use crate::functions::casts::{cast_by_name, own_cast};
use crate::functions::date_text::date_of_text;
use crate::functions::extreme::own_extreme;
use crate::functions::float::{is_one_nan, one_nan};
use crate::functions::float_results::{computes, float_result};
use crate::functions::in_lists::compared_one_by_one;
use crate::functions::intervals::{compared_by_length, in_groups_of_length, of_intervals, part_of_interval};
use crate::functions::keep_names::map_under_names;
use crate::functions::nearest_floats::{is_nearest_floats, with_nearest_floats};
use crate::functions::scalar::{take_computed_digits, take_own_field};
use crate::functions::whole_results::holding_values;

/// A value from another partition is a slice of the whole batch that came with it.
const HOLD_ONE: [&str; 3] = ["any_value", "first_value", "last_value"];

#[derive(Debug)]
pub struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let zone = config.execution.time_zone.as_deref();
        plan.transform_up_with_subqueries(|plan| {
            in_plan(plan, zone)?.transform_data(with_nearest_floats)?.transform_data(in_groups_of_length)
        })
        .map(|plan| plan.data)
    }
}

fn in_plan(plan: LogicalPlan, zone: Option<&str>) -> Result<Transformed<LogicalPlan>> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let source = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?;
        schema.merge(&source);
    }
    map_under_names(plan, |expr| expr.transform_up(|expr| in_expr(expr, &schema, zone)))
}

fn in_expr(mut expr: Expr, schema: &DFSchema, zone: Option<&str>) -> Result<Transformed<Expr>> {
    let is_changed = compared_by_length(&mut expr, schema)? | take_own_field(&mut expr) | take_computed_digits(&mut expr);
    let mut made = checked(expr, schema, zone)?.transform_data(|expr| Ok(compared_one_by_one(expr)))?;
    made.transformed |= is_changed;
    Ok(made)
}

fn checked(expr: Expr, schema: &DFSchema, zone: Option<&str>) -> Result<Transformed<Expr>> {
    if let Some(cast) = cast_by_name(&expr, schema) {
        return Ok(Transformed::yes(own_cast(&cast, schema, zone)?.unwrap_or(cast)));
    }
    match expr {
        expr if let Some(text) = concatenated(&expr, schema) => Ok(Transformed::yes(text)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let function = checked_operator(op).filter(|_| is_integer(&left, schema) && is_integer(&right, schema));
            Ok(match function {
                Some(function) => Transformed::yes(call(function, vec![*left, *right])),
                None if makes_nan(op) && (is_float(&left, schema) || is_float(&right, schema)) => {
                    let (left, right) = (Box::new(bare(*left)), Box::new(bare(*right)));
                    Transformed::yes(call(one_nan(), vec![Expr::BinaryExpr(BinaryExpr { left, op, right })]))
                }
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            })
        }
        Expr::Negative(inner) if is_float(&inner, schema) => {
            Ok(Transformed::yes(call(one_nan(), vec![Expr::Negative(Box::new(bare(*inner)))])))
        }
        Expr::AggregateFunction(mut aggregate)
            if (HOLD_ONE.contains(&aggregate.func.name()) || aggregate.params.distinct && aggregate.func.name() == "count")
                && aggregate.params.args.iter().any(|arg| is_nested(arg, schema))
                && let Some(function) = holding_values(&aggregate.func) =>
        {
            aggregate.func = function;
            Ok(Transformed::yes(Expr::AggregateFunction(aggregate)))
        }
        Expr::AggregateFunction(mut aggregate) => {
            let is_float = |expr: &Expr| is_float(expr, schema);
            match own_extreme(&aggregate.func).filter(|_| aggregate.params.args.first().is_some_and(is_float)) {
                Some(function) => {
                    aggregate.func = Arc::clone(function);
                    Ok(Transformed::yes(Expr::AggregateFunction(aggregate)))
                }
                None => one_result(Expr::AggregateFunction(aggregate), schema),
            }
        }
        Expr::WindowFunction(_) => one_result(expr, schema),
        Expr::Cast(_) | Expr::TryCast(_) if let Some(made) = own_cast(&expr, schema, zone)? => Ok(Transformed::yes(made)),
        Expr::ScalarFunction(mut outer) if is_one_nan(&outer.func) && outer.args.len() == 1 => {
            // The plan may have been rewritten before.
            let args = outer.args.into_iter().map(bare).collect();
            outer.args = args;
            Ok(Transformed::no(Expr::ScalarFunction(outer)))
        }
        Expr::ScalarFunction(_) if let Some(part) = part_of_interval(&expr, schema) => Ok(Transformed::yes(part)),
        Expr::ScalarFunction(_) if let Some(made) = of_intervals(&expr, schema) => Ok(Transformed::yes(made)),
        Expr::ScalarFunction(_) if let Some(date) = date_of_text(&expr, schema) => Ok(Transformed::yes(date)),
        expr if calculates(&expr, schema) && is_float(&expr, schema) => Ok(Transformed::yes(call(one_nan(), vec![expr]))),
        Expr::Negative(inner) if is_integer(&inner, schema) => Ok(Transformed::yes(call(checked_negation(), vec![*inner]))),
        other => Ok(with_bounded(other)),
    }
}

/// Replaces an aggregate whose results are floats by one that returns the one NaN.
fn one_result(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let function = match &expr {
        Expr::AggregateFunction(aggregate) => Some(&aggregate.func),
        Expr::WindowFunction(window) => match &window.fun {
            WindowFunctionDefinition::AggregateUDF(function) => Some(function),
            WindowFunctionDefinition::WindowUDF(_) => None,
        },
        _ => None,
    };
    let function = function.filter(|function| computes(function) && unwatched(function).is_none() && is_float(&expr, schema));
    let Some(function) = function.map(float_result) else {
        return Ok(Transformed::no(expr));
    };
    match &mut expr {
        Expr::AggregateFunction(aggregate) => aggregate.func = function,
        Expr::WindowFunction(window) => window.fun = WindowFunctionDefinition::AggregateUDF(function),
        _ => {}
    }
    Ok(Transformed::yes(expr))
}

/// Functions, and casts of anything but numbers. Casts of constants other than NaN stay: `1e0` is `CAST('1e0' AS DOUBLE)` here, and some
/// functions require constant arguments.
fn calculates(expr: &Expr, schema: &DFSchema) -> bool {
    let source = match expr {
        Expr::ScalarFunction(call) => return !is_nearest_floats(&call.func),
        Expr::Cast(cast) if cast.field.data_type().is_floating() => &cast.expr,
        Expr::TryCast(cast) if cast.field.data_type().is_floating() => &cast.expr,
        _ => return false,
    };
    match source.as_ref() {
        Expr::Literal(value, _) => value.try_as_str().flatten().is_some_and(|text| text.to_ascii_lowercase().contains("nan")),
        source => source.get_type(schema).is_ok_and(|data_type| data_type.is_string()),
    }
}

fn call(function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
}

/// Only the final result needs the one NaN, so inner calls are removed.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::ScalarFunction(mut call) if is_one_nan(&call.func) && call.args.len() == 1 => call.args.remove(0),
        other => other,
    }
}

fn makes_nan(operator: Operator) -> bool {
    matches!(operator, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo)
}

fn is_nested(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_nested())
}

fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::ScalarFunction(call) if is_one_nan(&call.func) => true,
        Expr::ScalarFunction(call) if is_checked(&call.func) => false,
        _ => expr.get_type(schema).is_ok_and(|data_type| data_type.is_floating()),
    }
}

/// An expression without a type in this schema keeps its operator; a column of an outer query carries its type.
fn is_integer(expr: &Expr, schema: &DFSchema) -> bool {
    // Without this, the type of each term of a long sum would be found from all terms before it.
    if let Expr::ScalarFunction(call) = expr
        && (is_checked(&call.func) || is_one_nan(&call.func))
    {
        return is_checked(&call.func);
    }
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_integer())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use datafusion::arrow::datatypes::DataType;
    use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility, lit};

    use super::*;

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    /// Counts how often its type is requested.
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Operand(Signature);

    impl ScalarUDFImpl for Operand {
        fn name(&self) -> &str {
            "operand"
        }

        fn signature(&self) -> &Signature {
            &self.0
        }

        fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
            ASKED.fetch_add(1, Ordering::Relaxed);
            Ok(DataType::Float64)
        }

        fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
            Ok(args.args[0].clone())
        }
    }

    #[test]
    fn the_type_of_a_long_sum_of_floats_is_not_found_anew_for_each_term() {
        let operand = Arc::new(ScalarUDF::from(Operand(Signature::any(1, Volatility::Immutable))));
        let sum = call(one_nan(), vec![call(&operand, vec![lit(1.0)]) + lit(1.0)]);
        let next = in_expr(sum + lit(1.0), &DFSchema::empty(), None).unwrap();
        assert!(next.transformed && is_float(&next.data, &DFSchema::empty()) && !is_integer(&next.data, &DFSchema::empty()));
        assert_eq!(ASKED.load(Ordering::Relaxed), 0);
    }
}
