//! Arithmetic that fails instead of wrapping: DataFusion's own lets integers and sums overflow silently. One NaN, where
//! processors know many. And casts that Arrow does wrongly.

mod arithmetic;
mod bounded;
mod casts;
mod current_user;
mod date_text;
mod delegate;
mod extreme;
mod fixed_list;
mod float;
mod float_results;
mod in_lists;
mod intervals;
mod named;
mod nearest_floats;
mod operator_chain;
mod overflow;
mod patterns;
mod ranks;
mod regr_r2;
mod rule;
mod scalar;
mod sliding;
mod sum;
mod sum_state;
mod version;
mod whole_results;

use arrow::datatypes::FieldRef;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;

use bounded::bounded_functions;
pub(crate) use bounded::{is_bounded, scalar_bytes, values_bytes, with_computed_values};
pub(crate) use casts::{cast_function, own_values, scalar_as};
pub(crate) use current_user::current_user;
pub(crate) use delegate::described_by_inner;
pub(crate) use fixed_list::{FixedLists, deeper_scalar, flat_scalar};
pub(crate) use float::{with_one_nan, without_one_nan};
pub(crate) use intervals::{interval_of_text, lengths as interval_lengths};
pub(crate) use named::map_under_names;
pub(crate) use nearest_floats::{
    NearestFloatsOfFiles, NearestFloatsOfSubqueries, cast_nearest, cast_operand, is_nearest_floats, nearest_f32, nearest_f64,
    scalar_nearest, with_floats,
};
pub use operator_chain::chain_as_operators;
pub(crate) use operator_chain::{AnalyzerRules, Steps, is_operator_chain, operator_chain};
pub(crate) use rule::CheckedArithmetic;
pub(crate) use scalar::{ANY_EQUALS, of_elements};
pub(crate) use sliding::sliding_accumulator;
use sum::checked_sum;
use version::version;
use whole_results::whole_results;

/// Those of DataFusion with the same name are replaced.
pub(crate) fn register(context: &SessionContext) {
    let state = context.state();
    let config = state.config_options();
    // Of the session's time zone, as now() is: functions that are registered are not told of it.
    let configured = bounded_functions().map(|function| function.inner().with_updated_config(config).unwrap_or(function));
    configured.for_each(|function| context.register_udf(function));
    context.register_udf(version());
    whole_results().into_iter().for_each(|function| context.register_udaf(function));
    context.register_udaf(checked_sum());
    context.register_udaf(regr_r2::regr_r2());
    ranks::ranks().for_each(|function| context.register_udwf(function));
    scalar::all(config).into_iter().for_each(|function| context.register_udf(function));
}

/// What a call of a function that stands in the place of a cast is as that: the field that is wanted, and whether what does
/// not fit is NULL.
pub fn function_as_cast(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    casts::cast_of(function).or_else(|| Some((nearest_floats::nearest_of(function)?, false)))
}
