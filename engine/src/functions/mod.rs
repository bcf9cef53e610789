//! Arithmetic that fails instead of wrapping: DataFusion's own lets integers and sums overflow silently. One NaN, where
//! processors know many. And casts that Arrow does wrongly.

mod arithmetic;
mod bounded;
mod current_user;
mod date_text;
mod delegate;
mod extreme;
mod fixed_list;
mod float;
mod float_results;
mod nearest_floats;
mod overflow;
mod rule;
mod sliding;
mod sum;
mod sum_state;
mod version;
mod whole_results;

use arrow::datatypes::FieldRef;
use datafusion::logical_expr::ScalarUDF;

pub(crate) use bounded::{
    bounded_functions, bounded_higher_order_functions, is_bounded, scalar_bytes, values_bytes, with_computed_values,
};
pub(crate) use current_user::current_user;
pub(crate) use delegate::described_by_inner;
pub(crate) use fixed_list::{FixedLists, deeper_scalar, flat_scalar, lists_as};
pub(crate) use float::with_one_nan;
pub(crate) use nearest_floats::{
    NearestFloatsOfFiles, NearestFloatsOfSubqueries, cast_nearest, cast_operand, is_nearest_floats, nearest_f32, nearest_f64,
    scalar_nearest, with_floats,
};
pub(crate) use rule::CheckedArithmetic;
pub(crate) use sliding::sliding_accumulator;
pub(crate) use sum::checked_sum;
pub(crate) use version::version;
pub(crate) use whole_results::whole_results;

/// What a call of a function that stands in the place of a cast is as that: the field that is wanted, and whether what does
/// not fit is NULL.
pub fn function_as_cast(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    fixed_list::cast_of_lists(function).or_else(|| Some((nearest_floats::nearest_of(function)?, false)))
}
