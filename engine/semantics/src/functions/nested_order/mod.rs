//! Lists, structs and maps in the order of ORDER BY, where NULL inside comes last.

pub mod compared;
pub mod constant;
pub mod extreme;
pub mod group_extreme;
pub mod sort_key;

use std::sync::Arc;

use arrow::array::{ArrayRef, DynComparator, make_comparator};
use arrow::compute::SortOptions;
use datafusion::common::Result;

use super::interval_lengths;
use super::intervals::has_intervals;

const OPTIONS: SortOptions = SortOptions { descending: false, nulls_first: false };

/// Compares two columns: NULL is the greatest value, and intervals compare by length.
pub fn comparator(left: &ArrayRef, right: &ArrayRef) -> Result<DynComparator> {
    let (left, right) = (interval_lengths(left)?, interval_lengths(right)?);
    Ok(make_comparator(&left, &right, OPTIONS)?)
}

/// The same, but intervals of equal length compare by their parts. So the choice among them does not depend on the order of rows.
pub fn exact_comparator(left: &ArrayRef, right: &ArrayRef) -> Result<DynComparator> {
    Comparable::new(Arc::clone(left))?.exact_comparator(&Comparable::new(Arc::clone(right))?)
}

/// A column that is compared more than once.
#[derive(Debug)]
pub struct Comparable {
    pub values: ArrayRef,
    /// The values with the lengths of the intervals inside.
    lengths: ArrayRef,
}

impl Comparable {
    pub fn new(values: ArrayRef) -> Result<Comparable> {
        Ok(Comparable { lengths: interval_lengths(&values)?, values })
    }

    pub fn exact_comparator(&self, other: &Comparable) -> Result<DynComparator> {
        let by_length = make_comparator(&self.lengths, &other.lengths, OPTIONS)?;
        if !has_intervals(self.values.data_type()) {
            return Ok(by_length);
        }
        let by_parts = make_comparator(&self.values, &other.values, OPTIONS)?;
        Ok(Box::new(move |left, right| by_length(left, right).then_with(|| by_parts(left, right))))
    }

    pub fn bytes(&self) -> usize {
        let lengths = if has_intervals(self.values.data_type()) { self.lengths.get_array_memory_size() } else { 0 };
        self.values.get_array_memory_size() + lengths
    }
}
