//! Expressions that compare intervals: each interval is replaced by its length.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{InSubquery, SetComparison, Sort, WindowFunctionDefinition};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlanBuilder, lit, when};

use super::length::length;
use super::{has_intervals, is_interval};
use crate::functions::extreme::own_extreme;
use common::error::EngineError;

/// Whether the expression was changed.
pub fn compared_by_length(expr: &mut Expr, schema: &DFSchema) -> Result<bool> {
    let is = |expr: &Expr| expr.get_type(schema).is_ok_and(|data_type| has_intervals(&data_type));
    let is_plain = |expr: &Expr| expr.get_type(schema).is_ok_and(|data_type| is_interval(&data_type));
    match expr {
        Expr::BinaryExpr(binary) if binary.op.supports_propagation() => {
            Ok(is(&binary.left) && is(&binary.right) && by_length([binary.left.as_mut(), binary.right.as_mut()]))
        }
        Expr::Between(between) => {
            let parts = [between.expr.as_mut(), between.low.as_mut(), between.high.as_mut()];
            Ok(parts.iter().all(|part| is(part)) && by_length(parts))
        }
        Expr::InList(list) => {
            let is_so = is(&list.expr) && list.list.iter().all(is);
            Ok(is_so && by_length(std::iter::once(list.expr.as_mut()).chain(&mut list.list)))
        }
        Expr::Case(case) => {
            let Some(operand) = case.expr.as_deref_mut() else { return Ok(false) };
            let is_so = is(operand) && case.when_then_expr.iter().all(|(when, _)| is(when));
            let whens = case.when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
            Ok(is_so && by_length(std::iter::once(operand).chain(whens)))
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. }) | Expr::SetComparison(SetComparison { expr, subquery, .. }) if is(expr) => {
            let plan = subquery.subquery.as_ref().clone();
            let Some((qualifier, field)) = plan.schema().iter().next() else { return Ok(false) };
            let column = Expr::from((qualifier, field));
            // Under the column's own name DataFusion would confuse the two columns.
            let made = LogicalPlanBuilder::from(plan).project(vec![length(column).alias("__interval_length")])?.build()?;
            subquery.subquery = Arc::new(made);
            Ok(by_length([expr.as_mut()]))
        }
        Expr::AggregateFunction(call) => {
            let mut changed = sorted_by_length(&mut call.params.order_by, is);
            if let Some(argument) = call.params.args.first_mut().filter(|argument| is(argument)) {
                if let Some(function) = own_extreme(&call.func).filter(|_| is_plain(argument)) {
                    call.func = Arc::clone(function);
                    changed = true;
                } else if call.func.name() == "approx_distinct" || call.params.distinct && call.func.name() != "array_agg" {
                    changed |= distinct_by_length(call.func.name(), argument)?;
                }
            }
            Ok(changed)
        }
        Expr::WindowFunction(call) => {
            let mut changed = sorted_by_length(&mut call.params.order_by, is);
            changed |= by_length(call.params.partition_by.iter_mut().filter(|key| is(key)));
            if let Some(argument) = call.params.args.first_mut().filter(|argument| call.params.distinct && is(argument)) {
                changed |= distinct_by_length(call.fun.name(), argument)?;
            }
            if call.params.args.first().is_some_and(is_plain)
                && let WindowFunctionDefinition::AggregateUDF(function) = &call.fun
                && let Some(function) = own_extreme(function)
            {
                call.fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(function));
                changed = true;
            }
            Ok(changed)
        }
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => {
            let [value, other] = call.args.as_slice() else { return Ok(false) };
            let is_so = is(value) && is(other) && !value.is_volatile();
            if is_so {
                let (value, other) = (value.clone(), other.clone());
                let null = lit(ScalarValue::try_new_null(&value.get_type(schema)?)?);
                *expr = when(length(value.clone()).eq(length(other)), null).otherwise(value)?;
            }
            Ok(is_so)
        }
        _ => Ok(false),
    }
}

/// The argument of an aggregate of distinct values. If the aggregate returns these values, it still compares them by months, days and the
/// rest; grouped `array_agg` is rewritten in [`super::grouped`].
fn distinct_by_length(function: &str, argument: &mut Expr) -> Result<bool> {
    match function {
        "count" | "approx_distinct" => Ok(by_length([argument])),
        "min" | "max" | "any_value" | "first_value" | "last_value" => Ok(false),
        other => {
            let hint = "intervals of one length are equal; write SELECT DISTINCT in a subquery";
            Err(EngineError::unsupported(format!("{other}(DISTINCT …) of intervals"), Some(hint)).into_datafusion())
        }
    }
}

pub fn sorted_by_length(keys: &mut [Sort], is_interval: impl Fn(&Expr) -> bool) -> bool {
    by_length(keys.iter_mut().map(|key| &mut key.expr).filter(|key| is_interval(key)))
}

fn by_length<'a>(intervals: impl IntoIterator<Item = &'a mut Expr>) -> bool {
    let mut changed = false;
    for interval in intervals {
        *interval = length(std::mem::take(interval));
        changed = true;
    }
    changed
}
