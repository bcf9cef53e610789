//! Estimates how much of a table a filter leaves, from its column statistics.
//!
//! The model is System R's (Selinger et al. 1979): values are spread evenly over a column's distinct
//! values and its range, and conjuncts are independent. Used to order joins, never to answer.

use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use std::sync::Arc;

use super::statistics::TableStatistics;
use semantics::functions::cast_operand;

const UNKNOWN: f64 = 0.2;
const LIKE_PREFIX: f64 = 0.05;
const LIKE_INSIDE: f64 = 0.1;

/// The fraction of rows that pass `filter`, between 0 and 1.
pub fn selectivity(filter: &Arc<dyn PhysicalExpr>, statistics: &TableStatistics) -> f64 {
    estimate(filter, statistics).clamp(0.0, 1.0)
}

fn estimate(filter: &Arc<dyn PhysicalExpr>, statistics: &TableStatistics) -> f64 {
    if filter.is::<DynamicFilterPhysicalExpr>() {
        // The join that produced this filter already counts it.
        return 1.0;
    }
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        return binary_estimate(binary, statistics);
    }
    if let Some(not) = filter.downcast_ref::<NotExpr>() {
        return 1.0 - estimate(not.arg(), statistics);
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        let one = column_of(list.expr(), statistics).map_or(UNKNOWN / 4.0, |column| equal(&column, statistics));
        let any = (one * list.list().len() as f64).min(1.0);
        return if list.negated() { 1.0 - any } else { any };
    }
    if let Some(is_null) = filter.downcast_ref::<IsNullExpr>() {
        return null_share(is_null.arg(), statistics);
    }
    if let Some(is_not_null) = filter.downcast_ref::<IsNotNullExpr>() {
        return 1.0 - null_share(is_not_null.arg(), statistics);
    }
    if let Some(like) = filter.downcast_ref::<LikeExpr>() {
        let share = if like.pattern().to_string().starts_with('%') { LIKE_INSIDE } else { LIKE_PREFIX };
        return if like.negated() { 1.0 - share } else { share };
    }
    match filter.downcast_ref::<Literal>().map(Literal::value) {
        Some(ScalarValue::Boolean(Some(true))) => 1.0,
        Some(_) => 0.0,
        None => UNKNOWN,
    }
}

fn binary_estimate(binary: &BinaryExpr, statistics: &TableStatistics) -> f64 {
    let (left, right) = (binary.left(), binary.right());
    match binary.op() {
        Operator::And => {
            return range_pair(left, right, statistics).unwrap_or_else(|| estimate(left, statistics) * estimate(right, statistics));
        }
        Operator::Or => {
            let (left, right) = (estimate(left, statistics), estimate(right, statistics));
            return left + right - left * right;
        }
        _ => {}
    }
    let Some((column, operator, value)) = comparison(binary, statistics) else {
        return match binary.op() {
            Operator::Eq => UNKNOWN / 4.0,
            Operator::NotEq => 1.0 - UNKNOWN / 4.0,
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => 1.0 / 3.0,
            _ => UNKNOWN,
        };
    };
    match operator {
        Operator::Eq => equal(&column, statistics),
        Operator::NotEq => 1.0 - equal(&column, statistics),
        Operator::Lt | Operator::LtEq => below(&column, &value).unwrap_or(1.0 / 3.0),
        Operator::Gt | Operator::GtEq => below(&column, &value).map_or(1.0 / 3.0, |share| 1.0 - share),
        _ => UNKNOWN,
    }
}

/// `a <= x AND x < b` is one range, not two independent filters.
fn range_pair(left: &Arc<dyn PhysicalExpr>, right: &Arc<dyn PhysicalExpr>, statistics: &TableStatistics) -> Option<f64> {
    let side = |expr: &Arc<dyn PhysicalExpr>| -> Option<(usize, bool, f64)> {
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let index = column_index(binary.left()).or_else(|| column_index(binary.right()))?;
        let (column, operator, value) = comparison(binary, statistics)?;
        let share = below(&column, &value)?;
        match operator {
            Operator::Lt | Operator::LtEq => Some((index, true, share)),
            Operator::Gt | Operator::GtEq => Some((index, false, share)),
            _ => None,
        }
    };
    let (a, b) = (side(left)?, side(right)?);
    if a.0 != b.0 || a.1 == b.1 {
        return None;
    }
    let (upper, lower) = if a.1 { (a.2, b.2) } else { (b.2, a.2) };
    Some((upper - lower).max(0.0))
}

/// A comparison of a column and a literal, normalised so that the column is on the left.
fn comparison(binary: &BinaryExpr, statistics: &TableStatistics) -> Option<(ColumnStatistics, Operator, ScalarValue)> {
    let literal = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Literal>().map(|literal| literal.value().clone());
    if let Some(value) = literal(binary.right())
        && let Some(column) = column_of(binary.left(), statistics)
    {
        return Some((column, *binary.op(), value));
    }
    let value = literal(binary.left())?;
    Some((column_of(binary.right(), statistics)?, binary.op().swap()?, value))
}

fn column_index(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    if let Some(operand) = cast_operand(expr) {
        return column_index(operand);
    }
    expr.downcast_ref::<Column>().map(Column::index)
}

fn column_of(expr: &Arc<dyn PhysicalExpr>, statistics: &TableStatistics) -> Option<ColumnStatistics> {
    column_index(expr).map(|column| statistics.column(column))
}

fn equal(column: &ColumnStatistics, statistics: &TableStatistics) -> f64 {
    let rows = statistics.num_rows.get_value().copied().unwrap_or(1).max(1) as f64;
    match column.distinct_count.get_value() {
        Some(distinct) => (1.0 / (*distinct).max(1) as f64).max(1.0 / rows),
        None => UNKNOWN / 4.0,
    }
}

/// The fraction of the column's range below `value`.
fn below(column: &ColumnStatistics, value: &ScalarValue) -> Option<f64> {
    let bound = |bound: &Precision<ScalarValue>| bound.get_value().and_then(number);
    let (min, max) = (bound(&column.min_value)?, bound(&column.max_value)?);
    let same_type = column.min_value.get_value()?.data_type();
    let value = number(&value.cast_to(&same_type).ok()?)?;
    if max <= min {
        return Some(if value < min { 0.0 } else { 1.0 });
    }
    Some(((value - min) / (max - min)).clamp(0.0, 1.0))
}

fn number(value: &ScalarValue) -> Option<f64> {
    match value.cast_to(&arrow::datatypes::DataType::Float64) {
        Ok(ScalarValue::Float64(number)) => number,
        _ => match value {
            ScalarValue::Date32(days) => days.map(f64::from),
            ScalarValue::Date64(ms) => ms.map(|ms| ms as f64),
            _ => match value.cast_to(&arrow::datatypes::DataType::Int64) {
                Ok(ScalarValue::Int64(number)) => number.map(|number| number as f64),
                _ => None,
            },
        },
    }
}

fn null_share(expr: &Arc<dyn PhysicalExpr>, statistics: &TableStatistics) -> f64 {
    let rows = statistics.num_rows.get_value().copied().unwrap_or(0).max(1) as f64;
    let nulls = column_of(expr, statistics).and_then(|column| column.null_count.get_value().copied());
    nulls.map_or(UNKNOWN / 2.0, |nulls| nulls as f64 / rows)
}
