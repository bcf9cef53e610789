//! Conditions over columns as a segment stores them: a number is compared with a constant in the bytes that it has there.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, LikeExpr, Literal, in_list, lit};
use pmem_store::segment::decode;

use super::dictionary_test::COMPARISONS;

/// `expr` is over the physical types of columns; the result is over the stored ones.
pub fn over_stored(expr: &Arc<dyn PhysicalExpr>, physical: &Schema, stored: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .transform_up(|node| {
            if let Some(column) = node.downcast_ref::<Column>() {
                let to = physical.field(column.index()).data_type();
                return Ok(match stored.field(column.index()).data_type() == to {
                    true => Transformed::no(node),
                    false => Transformed::yes(Arc::new(DecodedColumn { to: to.clone(), column: node })),
                });
            }
            Ok(match direct(&node, stored)? {
                Some(direct) => Transformed::yes(direct),
                None => Transformed::no(node),
            })
        })
        .data()
}

/// The same condition on the stored values; `None` if there is none.
fn direct(node: &Arc<dyn PhysicalExpr>, stored: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        if let (Some(one), Some(other)) = (decoded(left), decoded(right)) {
            return compare_columns(one, *binary.op(), other, stored);
        }
        return match (decoded(left), literal(right), decoded(right), literal(left), binary.op().swap()) {
            (Some(column), Some(value), ..) => compare(column, *binary.op(), value, stored),
            (_, _, Some(column), Some(value), Some(op)) => compare(column, op, value, stored),
            _ => Ok(None),
        };
    }
    if let Some(like) = node.downcast_ref::<LikeExpr>()
        && let (Some(column), Some(pattern)) = (decoded(like.expr()), literal(like.pattern()))
        && column.column.data_type(stored)? == DataType::Utf8
        && let Some(pattern) = text(pattern)
    {
        let (column, pattern) = (Arc::clone(&column.column), lit(pattern));
        return Ok(Some(Arc::new(LikeExpr::new(like.negated(), like.case_insensitive(), column, pattern))));
    }
    if let Some(list) = node.downcast_ref::<InListExpr>()
        && let Some(column) = decoded(list.expr())
    {
        let to = column.column.data_type(stored)?;
        let items = list.list().iter().map(|item| literal(item).and_then(|value| stored_value(value, column, &to)));
        let Some(items) = items.collect::<Option<Vec<_>>>() else { return Ok(None) };
        // Values that no row can have are left out. A list of no other is one that says nothing about NULL.
        let items: Vec<_> = items.into_iter().flatten().map(lit).collect();
        if !items.is_empty() {
            return in_list(Arc::clone(&column.column), items, &list.negated(), stored).map(Some);
        }
    }
    Ok(None)
}

/// Integers that have the same type in both ways compare as their values do.
fn compare_columns(one: &DecodedColumn, op: Operator, other: &DecodedColumn, stored: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let (of_one, of_other) = (one.column.data_type(stored)?, other.column.data_type(stored)?);
    let is_same = one.to == other.to && of_one == of_other && of_one.is_integer();
    let compared = BinaryExpr::new(Arc::clone(&one.column), op, Arc::clone(&other.column));
    Ok((is_same && COMPARISONS.contains(&op)).then(|| Arc::new(compared) as Arc<dyn PhysicalExpr>))
}

fn compare(column: &DecodedColumn, op: Operator, value: &ScalarValue, stored: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    if value.is_null() || !matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return Ok(None);
    }
    let to = column.column.data_type(stored)?;
    let Some(in_range) = stored_value(value, column, &to) else { return Ok(None) };
    let (op, value) = match in_range {
        Some(value) => (op, value),
        None => {
            // No row has the value: the comparison is NULL for NULL, and the same for all others.
            let is_greater = integer(value).is_some_and(|value| value > 0);
            let is_true = matches!((op, is_greater), (NotEq, _) | (Lt | LtEq, true) | (Gt | GtEq, false));
            let Some(least) = ScalarValue::min(&to) else { return Ok(None) };
            (if is_true { GtEq } else { Lt }, least)
        }
    };
    Ok(Some(Arc::new(BinaryExpr::new(Arc::clone(&column.column), op, lit(value)))))
}

/// A constant of the physical type as a stored value; the inner `None` says that no stored value equals it, the outer one that it is unknown which
/// does.
fn stored_value(value: &ScalarValue, column: &DecodedColumn, to: &DataType) -> Option<Option<ScalarValue>> {
    match to {
        DataType::Utf8 => text(value).map(Some),
        _ if to.is_integer() && value.data_type() == column.to => {
            if value.is_null() {
                return ScalarValue::try_new_null(to).ok().map(Some);
            }
            let value = integer(value)?;
            Some(
                i64::try_from(value)
                    .ok()
                    .and_then(|value| ScalarValue::Int64(Some(value)).cast_to(to).ok())
                    .filter(|value| !value.is_null()),
            )
        }
        _ => None,
    }
}

fn text(value: &ScalarValue) -> Option<ScalarValue> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => Some(ScalarValue::Utf8(text.clone())),
        _ => None,
    }
}

/// The integer that a value is in memory.
pub(super) fn integer(value: &ScalarValue) -> Option<i128> {
    use ScalarValue::*;
    match value {
        Int8(value) => value.map(i128::from),
        Int16(value) => value.map(i128::from),
        Int32(value) | Date32(value) | Time32Second(value) | Time32Millisecond(value) | Decimal32(value, ..) => value.map(i128::from),
        Int64(value)
        | Date64(value)
        | Time64Microsecond(value)
        | Time64Nanosecond(value)
        | TimestampSecond(value, _)
        | TimestampMillisecond(value, _)
        | TimestampMicrosecond(value, _)
        | TimestampNanosecond(value, _)
        | DurationSecond(value)
        | DurationMillisecond(value)
        | DurationMicrosecond(value)
        | DurationNanosecond(value)
        | Decimal64(value, ..) => value.map(i128::from),
        UInt8(value) => value.map(i128::from),
        UInt16(value) => value.map(i128::from),
        UInt32(value) => value.map(i128::from),
        UInt64(value) => value.map(i128::from),
        Decimal128(value, ..) => *value,
        _ => None,
    }
}

fn decoded(expr: &Arc<dyn PhysicalExpr>) -> Option<&DecodedColumn> {
    expr.downcast_ref()
}

fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}

/// A stored column in its physical type.
#[derive(Debug, Eq)]
struct DecodedColumn {
    column: Arc<dyn PhysicalExpr>,
    to: DataType,
}

impl PartialEq for DecodedColumn {
    fn eq(&self, other: &Self) -> bool {
        self.column.eq(&other.column) && self.to == other.to
    }
}

impl Hash for DecodedColumn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
        self.to.hash(state);
    }
}

impl fmt::Display for DecodedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column)
    }
}

impl PhysicalExpr for DecodedColumn {
    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        let field = self.column.return_field(schema)?;
        Ok(Arc::new(Field::new(field.name(), self.to.clone(), field.is_nullable())))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let stored = self.column.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(decode(&stored, &self.to)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.column]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let [column] = children.as_slice() else { return internal_err!("a decoded column has one child") };
        Ok(Arc::new(DecodedColumn { column: Arc::clone(column), to: self.to.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.column.fmt_sql(f)
    }
}
