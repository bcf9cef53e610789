//! Lists, structs and maps in the order of ORDER BY, in which NULL inside comes last.

pub mod compared;
pub mod extreme;
pub mod group_extreme;
pub mod sort_key;

use arrow::array::{ArrayRef, DynComparator, make_comparator};
use arrow::compute::SortOptions;
use datafusion::common::Result;

use super::interval_lengths;
use super::intervals::has_intervals;

const OPTIONS: SortOptions = SortOptions { descending: false, nulls_first: false };

/// Of two columns, in which NULL is greater than all, and intervals are as they are long.
pub fn comparator(left: &ArrayRef, right: &ArrayRef) -> Result<DynComparator> {
    let (left, right) = (interval_lengths(left)?, interval_lengths(right)?);
    Ok(make_comparator(&left, &right, OPTIONS)?)
}

/// The same, in which intervals that are as long are as their parts are. So it is always the same one of them that comes first.
pub fn exact_comparator(left: &ArrayRef, right: &ArrayRef) -> Result<DynComparator> {
    let by_length = comparator(left, right)?;
    if !has_intervals(left.data_type()) {
        return Ok(by_length);
    }
    let by_parts = make_comparator(left, right, OPTIONS)?;
    Ok(Box::new(move |left, right| by_length(left, right).then_with(|| by_parts(left, right))))
}
