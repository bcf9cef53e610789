//! Arithmetic that fails instead of wrapping: DataFusion's own lets integers and sums overflow silently. One NaN, where processors have
//! many. And replacements for casts that Arrow does wrongly.

pub mod arithmetic;
pub mod bounded;
pub mod casts;
pub mod current_user;
pub mod date_text;
pub mod delegate;
pub mod extreme;
pub mod fixed_list;
pub mod float;
pub mod float_results;
pub mod in_lists;
pub mod inline_function;
pub mod intervals;
pub mod keep_names;
pub mod list_operators;
pub mod nearest_floats;
pub mod nested_order;
pub mod nested_types;
pub mod operator_chain;
pub mod overflow;
pub mod patterns;
pub mod ranks;
pub mod regr_r2;
pub mod scalar;
pub mod shifts;
pub mod sliding;
pub mod sum;
pub mod sum_state;
pub mod untyped_nulls;
pub mod version;
pub mod whole_results;

use arrow::datatypes::FieldRef;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;

use bounded::bounded_functions;
pub use bounded::{is_bounded, scalar_bytes, values_bytes, with_computed_values};
pub use casts::{cast_function, own_values, scalar_as};
pub use current_user::current_user;
pub(crate) use delegate::{accumulates_as, accumulates_groups_as, described_by_inner};
pub use fixed_list::{FixedLists, flat_scalar, nested_scalar};
pub use float::{with_one_nan, without_one_nan};
pub use inline_function::{InlineDefinition, InlineFunction, is_converted};
pub use intervals::lengths as interval_lengths;
pub use keep_names::map_under_names;
pub use nearest_floats::{
    NearestFloatsOfSubqueries, cast_nearest, cast_operand, is_nearest_floats, nearest_f32, nearest_f64, scalar_nearest, with_floats,
};
pub use operator_chain::chain_as_operators;
pub use operator_chain::{AnalyzerRules, Steps, is_operator_chain, operator_chain};
pub(crate) use ranks::{is_row_number, rank, row_number};
pub use scalar::of_elements;
pub use sliding::sliding_accumulator;
use sum::checked_sum;
use version::version;
use whole_results::whole_results;

/// DataFusion's functions that no statement can call: no scan here fills them in.
const OF_SCANS: [&str; 2] = ["file_row_index", "input_file_name"];

/// Replaces DataFusion's functions of the same names.
pub fn register(context: &SessionContext) {
    let state = context.state();
    let config = state.config_options();
    // now() and others take the session's time zone here: later changes of the settings do not reach registered functions.
    let configured = bounded_functions().map(|function| function.inner().with_updated_config(config).unwrap_or(function));
    configured.for_each(|function| context.register_udf(function));
    context.register_udf(version());
    whole_results().into_iter().for_each(|function| context.register_udaf(function));
    context.register_udaf(checked_sum());
    context.register_udaf(regr_r2::regr_r2());
    ranks::ranks().chain(shifts::shifts()).for_each(|function| context.register_udwf(function));
    scalar::all(config).into_iter().for_each(|function| context.register_udf(function));
    OF_SCANS.into_iter().for_each(|name| context.deregister_udf(name));
}

/// A call that replaces a cast, as that cast: the target field, and whether a value that does not fit becomes NULL.
pub fn function_as_cast(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    casts::cast_of(function).or_else(|| Some((nearest_floats::nearest_of(function)?, false)))
}
