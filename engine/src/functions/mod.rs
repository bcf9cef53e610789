//! Arithmetic that fails instead of wrapping: DataFusion's own lets integers and sums overflow silently. And one NaN, where
//! processors know many.

mod arithmetic;
mod delegate;
mod extreme;
mod fixed_list;
mod float;
mod float_results;
mod overflow;
mod rule;
mod sum;
mod sum_state;

pub(crate) use delegate::described_by_inner;
pub use fixed_list::cast_of_lists;
pub(crate) use fixed_list::FixedLists;
pub(crate) use float::with_one_nan;
pub(crate) use rule::CheckedArithmetic;
pub(crate) use sum::checked_sum;
