//! Sets of integers, such as `column IN (integers)` and the keys of a join, as bitmaps over their range.
//!
//! A bit test costs a fraction of a hash lookup (docs/performance.md, "lists of integers").

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{max, min};
use arrow::datatypes::{DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef, UInt8Type, UInt16Type, UInt32Type};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};
use datafusion::scalar::ScalarValue;

/// At most 2 MiB of bits for a list: a larger bitmap would not stay in a core's cache, and few of its bits would be set.
const RANGE_MAX: u64 = 1 << 24;
/// 8 MiB of bits for the keys of a join, which are more.
const WORDS_MAX: i64 = 1 << 20;

#[derive(Debug)]
pub struct IntegerSet {
    min: i64,
    /// Bit i says that min + i is in the set. The last word has no bits: all values beyond the others are tested there.
    words: Vec<u64>,
    /// The least and the greatest value.
    bounds: (i64, i64),
}

impl IntegerSet {
    /// The set of a list; `None` for any other condition, or if the range is too wide.
    pub fn of(expr: &Arc<dyn PhysicalExpr>, physical: &SchemaRef) -> Option<IntegerSet> {
        let list = expr.downcast_ref::<InListExpr>().filter(|list| !list.negated())?;
        let column = list.expr().downcast_ref::<Column>()?;
        if !has_integer_set(physical.field(column.index()).data_type()) {
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
        let mut words = vec![0u64; (range / 64 + 2) as usize];
        for value in values {
            let bit = (value - min) as usize;
            words[bit / 64] |= 1 << (bit % 64);
        }
        Some(IntegerSet { min, words, bounds: (min, max) })
    }

    /// The least and the greatest value.
    pub fn bounds(&self) -> (i64, i64) {
        self.bounds
    }

    /// Whether all values satisfy a comparison of `column` with a literal.
    pub fn satisfies(&self, condition: &Arc<dyn PhysicalExpr>) -> bool {
        let Some(comparison) = condition.downcast_ref::<BinaryExpr>().filter(|comparison| comparison.left().is::<Column>()) else {
            return false;
        };
        let Some(Some(value)) = comparison.right().downcast_ref::<Literal>().and_then(|literal| integer(literal.value())) else {
            return false;
        };
        match comparison.op() {
            Operator::GtEq => value <= self.bounds.0,
            Operator::LtEq => value >= self.bounds.1,
            _ => false,
        }
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
        let last = self.words.len() as u64 - 1;
        // Without branches: whether a value is in the range is as hard to predict as whether it is in the set.
        let bits = BooleanBuffer::collect_bool(values.len(), |row| {
            // SAFETY: `collect_bool` asks for rows below the number of values, and `last` is the position of a word, since both constructors
            // add one (`a_bitmap_finds_what_a_list_has_and_nothing_else`, `a_set_grows_on_both_sides`).
            unsafe {
                let bit = (*values.get_unchecked(row)).into().wrapping_sub(self.min) as u64;
                self.words.get_unchecked((bit / 64).min(last) as usize) >> (bit % 64) & 1 == 1
            }
        });
        let bits = match array.nulls() {
            Some(nulls) => &bits & nulls.inner(),
            None => bits,
        };
        BooleanArray::new(bits, None)
    }
}

/// Whether values of this type can be tested.
pub fn has_integer_set(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | Date32)
}

/// A set that grows.
#[derive(Debug, Default)]
pub struct IntegerSetBuilder {
    /// The number of the first word: value / 64.
    first: i64,
    words: Vec<u64>,
    bounds: Option<(i64, i64)>,
}

impl IntegerSetBuilder {
    /// Adds the values of an array that are not NULL; false if the range is too wide then.
    pub fn add(&mut self, array: &ArrayRef) -> bool {
        match array.data_type() {
            DataType::Int8 => self.add_values(array.as_primitive::<Int8Type>()),
            DataType::Int16 => self.add_values(array.as_primitive::<Int16Type>()),
            DataType::Int32 => self.add_values(array.as_primitive::<Int32Type>()),
            DataType::Date32 => self.add_values(array.as_primitive::<Date32Type>()),
            DataType::UInt8 => self.add_values(array.as_primitive::<UInt8Type>()),
            DataType::UInt16 => self.add_values(array.as_primitive::<UInt16Type>()),
            DataType::UInt32 => self.add_values(array.as_primitive::<UInt32Type>()),
            DataType::Int64 => self.add_values(array.as_primitive::<Int64Type>()),
            _ => false,
        }
    }

    fn add_values<T: ArrowPrimitiveType>(&mut self, array: &PrimitiveArray<T>) -> bool
    where
        T::Native: Into<i64>,
    {
        let (Some(least), Some(greatest)) = (min(array), max(array)) else { return true };
        let (least, greatest): (i64, i64) = (least.into(), greatest.into());
        if !self.cover(least >> 6, greatest >> 6) {
            return false;
        }
        let bounds = self.bounds.get_or_insert((least, greatest));
        *bounds = (bounds.0.min(least), bounds.1.max(greatest));
        let mut set = |value: T::Native| {
            let value: i64 = value.into();
            self.words[((value >> 6) - self.first) as usize] |= 1 << (value & 63);
        };
        match array.nulls() {
            None => array.values().iter().for_each(|value| set(*value)),
            Some(_) => array.iter().flatten().for_each(set),
        }
        true
    }

    /// Makes room for the words from `least` to `greatest`.
    fn cover(&mut self, least: i64, greatest: i64) -> bool {
        let covered = self.words.len() as i64;
        let (first, end) = match covered {
            0 => (least, greatest + 1),
            _ => (self.first.min(least), (self.first + covered).max(greatest + 1)),
        };
        if end - first > WORDS_MAX {
            return false;
        }
        let mut first = first;
        if covered > 0 && first < self.first {
            // Room for more of descending values.
            first -= covered.min(WORDS_MAX - (end - first));
            let front = (self.first - first) as usize;
            self.words.splice(0..0, std::iter::repeat_n(0, front));
        }
        self.first = first;
        self.words.resize((end - first) as usize, 0);
        true
    }

    pub fn size_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// `None` if the set is empty.
    pub fn finish(mut self) -> Option<IntegerSet> {
        let bounds = self.bounds?;
        self.words.push(0);
        Some(IntegerSet { min: self.first << 6, words: self.words, bounds })
    }
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
    fn a_set_grows_on_both_sides() {
        let mut builder = IntegerSetBuilder::default();
        let arrays: [Vec<Option<i64>>; 4] = [vec![Some(1_000), None], vec![], vec![Some(-70), Some(1_001)], vec![None, Some(70_000)]];
        for values in arrays {
            assert!(builder.add(&(Arc::new(Int64Array::from(values)) as ArrayRef)));
        }
        let set = builder.finish().unwrap();
        assert_eq!(set.bounds(), (-70, 70_000));
        let tested: ArrayRef = Arc::new(Int64Array::from(vec![-71, -70, 0, 999, 1_000, 1_001, 1_002, 70_000, i64::MAX, i64::MIN]));
        let found: Vec<bool> = set.contains(&tested).iter().map(|bit| bit == Some(true)).collect();
        assert_eq!(found, [false, true, false, false, true, true, false, true, false, false]);
        let mut wide = IntegerSetBuilder::default();
        assert!(!wide.add(&(Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])) as ArrayRef)));
        assert!(!wide.add(&(Arc::new(Int64Array::from(vec![0, 1 << 27])) as ArrayRef)));
        assert!(wide.finish().is_none());
    }

    #[test]
    fn a_range_too_wide_has_no_bitmap() {
        assert!(IntegerSet::from_values(&[i64::MIN, i64::MAX]).is_none());
        assert!(IntegerSet::from_values(&[0, 1 << 24]).is_none());
        assert!(IntegerSet::from_values(&[]).is_none());
    }
}
