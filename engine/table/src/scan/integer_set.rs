//! `column IN (integers)` as a bitmap over the range of the integers.
//!
//! Joins pass their keys to scans as such lists; a bit test costs a fraction of a hash lookup (docs/performance.md, "integer set").

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef, UInt8Type, UInt16Type, UInt32Type};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, InListExpr, Literal};
use datafusion::scalar::ScalarValue;

/// At most 2 MiB of bits: a larger bitmap would not stay in a core's cache.
const RANGE_MAX: u64 = 1 << 24;

#[derive(Debug)]
pub struct IntegerSet {
    min: i64,
    /// Bit i says that min + i is in the set.
    words: Vec<u64>,
}

impl IntegerSet {
    /// `None` for any other condition, or if the range is too wide.
    pub fn of(expr: &Arc<dyn PhysicalExpr>, physical: &SchemaRef) -> Option<IntegerSet> {
        let list = expr.downcast_ref::<InListExpr>().filter(|list| !list.negated())?;
        let column = list.expr().downcast_ref::<Column>()?;
        if !is_small_integer(physical.field(column.index()).data_type()) {
            return None;
        }
        let mut values = Vec::with_capacity(list.list().len());
        for item in list.list() {
            match integer(item.downcast_ref::<Literal>()?.value()) {
                Some(value) => values.extend(value),
                None => return None,
            }
        }
        IntegerSet::from_values(&values)
    }

    fn from_values(values: &[i64]) -> Option<IntegerSet> {
        let (min, max) = (*values.iter().min()?, *values.iter().max()?);
        let range = max.checked_sub(min).and_then(|range| u64::try_from(range).ok()).filter(|range| *range < RANGE_MAX)?;
        let mut words = vec![0u64; (range / 64 + 1) as usize];
        for value in values {
            let bit = (value - min) as usize;
            words[bit / 64] |= 1 << (bit % 64);
        }
        Some(IntegerSet { min, words })
    }

    /// For each row, whether its value is in the set; false for NULL.
    pub fn contains(&self, array: &ArrayRef) -> BooleanArray {
        match array.data_type() {
            DataType::Int8 => self.test(array.as_primitive::<Int8Type>()),
            DataType::Int16 => self.test(array.as_primitive::<Int16Type>()),
            DataType::Int32 => self.test(array.as_primitive::<Int32Type>()),
            DataType::Date32 => self.test(array.as_primitive::<Date32Type>()),
            DataType::UInt8 => self.test(array.as_primitive::<UInt8Type>()),
            DataType::UInt16 => self.test(array.as_primitive::<UInt16Type>()),
            DataType::UInt32 => self.test(array.as_primitive::<UInt32Type>()),
            _ => self.test(array.as_primitive::<Int64Type>()),
        }
    }

    fn test<T: ArrowPrimitiveType>(&self, array: &PrimitiveArray<T>) -> BooleanArray
    where
        T::Native: Into<i64>,
    {
        let values = array.values();
        let range = self.words.len() as u64 * 64;
        let bits = BooleanBuffer::collect_bool(values.len(), |row| {
            let bit = values[row].into().wrapping_sub(self.min) as u64;
            bit < range && self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
        });
        let bits = match array.nulls() {
            Some(nulls) => &bits & nulls.inner(),
            None => bits,
        };
        BooleanArray::new(bits, None)
    }
}

fn is_small_integer(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | Date32)
}

/// The value of an integer literal; the inner `None` is NULL, which equals no row.
fn integer(value: &ScalarValue) -> Option<Option<i64>> {
    Some(match value {
        ScalarValue::Int8(value) => value.map(i64::from),
        ScalarValue::Int16(value) => value.map(i64::from),
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => value.map(i64::from),
        ScalarValue::Int64(value) => *value,
        ScalarValue::UInt8(value) => value.map(i64::from),
        ScalarValue::UInt16(value) => value.map(i64::from),
        ScalarValue::UInt32(value) => value.map(i64::from),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;

    #[test]
    fn a_bitmap_finds_what_a_list_has_and_nothing_else() {
        let set = IntegerSet::from_values(&[-5, 3, 70, 1000]);
        let array: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(-5),
            Some(-6),
            None,
            Some(3),
            Some(69),
            Some(70),
            Some(1000),
            Some(1001),
            Some(i64::MIN),
            Some(i64::MAX),
        ]));
        let membership = set.map(|set| set.contains(&array).iter().map(|bit| bit == Some(true)).collect::<Vec<_>>());
        assert_eq!(membership, Some(vec![true, false, false, true, false, true, true, false, false, false]));
    }

    #[test]
    fn a_range_too_wide_has_no_bitmap() {
        assert!(IntegerSet::from_values(&[i64::MIN, i64::MAX]).is_none());
        assert!(IntegerSet::from_values(&[0, 1 << 24]).is_none());
        assert!(IntegerSet::from_values(&[]).is_none());
    }
}
