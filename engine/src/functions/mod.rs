//! Arithmetic that fails instead of wrapping: DataFusion's own lets integers and sums overflow silently.

mod arithmetic;
mod overflow;
mod rule;
mod sum;
mod sum_state;

pub(crate) use rule::CheckedArithmetic;
pub(crate) use sum::checked_sum;
