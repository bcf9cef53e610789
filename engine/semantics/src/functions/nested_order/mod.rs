//! Lists, structs and maps in the order of ORDER BY, in which NULL inside comes last.

pub mod compared;
pub mod extreme;
pub mod group_extreme;

use arrow::array::{ArrayRef, DynComparator, make_comparator};
use arrow::compute::SortOptions;
use datafusion::common::Result;

use super::interval_lengths;

/// Of two columns, in which NULL is greater than all, and intervals are as they are long.
pub fn comparator(left: &ArrayRef, right: &ArrayRef) -> Result<DynComparator> {
    let (left, right) = (interval_lengths(left)?, interval_lengths(right)?);
    Ok(make_comparator(&left, &right, SortOptions { descending: false, nulls_first: false })?)
}
