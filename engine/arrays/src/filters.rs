//! What the conditions on the relation of an array say of its chunks.

use datafusion::common::arrow::datatypes::DataType;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator};

use crate::definition::{ArrayDefinition, GREATEST, LEAST, VALUE};

/// The indices from `least` to `greatest` along a dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexRange {
    pub dimension: usize,
    pub least: i64,
    pub greatest: i64,
    /// The condition is true for all of them.
    pub is_exact: bool,
}

/// The range outside of which the condition is not true; `None` if it is no condition on one dimension alone.
pub fn index_range(filter: &Expr, array: &ArrayDefinition) -> Option<IndexRange> {
    let dimension_of = |expr: &Expr| match expr {
        Expr::Column(column) => array.dimensions.iter().position(|dimension| dimension.name == column.name),
        _ => None,
    };
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (dimension, op, index) = match (dimension_of(left), dimension_of(right)) {
                (Some(dimension), None) => (dimension, *op, index_of(right)?),
                (None, Some(dimension)) => (dimension, op.swap()?, index_of(left)?),
                _ => return None,
            };
            let (least, greatest) = match op {
                Operator::Eq => (index, index),
                Operator::Lt => (i64::MIN, index.checked_sub(1)?),
                Operator::LtEq => (i64::MIN, index),
                Operator::Gt => (index.checked_add(1)?, i64::MAX),
                Operator::GtEq => (index, i64::MAX),
                _ => return None,
            };
            Some(IndexRange { dimension, least, greatest, is_exact: true })
        }
        Expr::Between(Between { expr, negated: false, low, high }) => {
            Some(IndexRange { dimension: dimension_of(expr)?, least: index_of(low)?, greatest: index_of(high)?, is_exact: true })
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let indices = list.iter().map(index_of).collect::<Option<Vec<i64>>>()?;
            let (least, greatest) = (*indices.iter().min()?, *indices.iter().max()?);
            Some(IndexRange { dimension: dimension_of(expr)?, least, greatest, is_exact: false })
        }
        _ => None,
    }
}

fn index_of(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_integer() => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(index)) => index,
            _ => None,
        },
        _ => None,
    }
}

/// A condition on the least and greatest value of a chunk that holds if a cell of the chunk satisfies the filter; `None` if there is none.
pub fn on_chunk(filter: &Expr, array: &ArrayDefinition) -> Option<Expr> {
    let is_value = |expr: &Expr| is_value(expr, &array.element);
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => match (on_chunk(left, array), on_chunk(right, array)) {
            (Some(left), Some(right)) => Some(left.and(right)),
            (left, right) => left.or(right),
        },
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => Some(on_chunk(left, array)?.or(on_chunk(right, array)?)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (is_value(left), is_value(right)) {
            (true, false) => compared(left, *op, right),
            (false, true) => compared(right, op.swap()?, left),
            _ => None,
        },
        Expr::Between(Between { expr, negated: false, low, high }) if is_value(expr) => {
            Some(compared(expr, Operator::GtEq, low)?.and(compared(expr, Operator::LtEq, high)?))
        }
        Expr::InList(InList { expr, list, negated: false }) if is_value(expr) => {
            list.iter().map(|value| compared(expr, Operator::Eq, value)).collect::<Option<Vec<_>>>()?.into_iter().reduce(Expr::or)
        }
        _ => None,
    }
}

/// The cells, perhaps cast to a wider type of numbers: that keeps their order, and fails for no cell, also for those outside of the region.
fn is_value(expr: &Expr, element: &DataType) -> bool {
    match expr {
        Expr::Column(column) => column.name == VALUE,
        Expr::Cast(Cast { expr, field }) => {
            let is_wider = match field.data_type() {
                DataType::Float64 => true,
                DataType::Int64 => element.is_integer() && *element != DataType::UInt64,
                _ => false,
            };
            is_wider && is_value(expr, element)
        }
        _ => false,
    }
}

fn compared(value: &Expr, op: Operator, with: &Expr) -> Option<Expr> {
    if !matches!(with, Expr::Literal(..)) {
        return None;
    }
    let side = |name: &str, op: Operator| -> Option<Expr> {
        let column = in_place_of_value(value, name).ok()?;
        Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(column), op, Box::new(with.clone()))))
    };
    match op {
        Operator::Gt | Operator::GtEq => side(GREATEST, op),
        Operator::Lt | Operator::LtEq => side(LEAST, op),
        Operator::Eq => Some(side(GREATEST, Operator::GtEq)?.and(side(LEAST, Operator::LtEq)?)),
        _ => None,
    }
}

fn in_place_of_value(value: &Expr, name: &str) -> Result<Expr> {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let renamed = value.clone().transform(|expr| match expr {
        Expr::Column(_) => Ok(Transformed::yes(Expr::Column(Column::from_name(name)))),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(renamed.data)
}
