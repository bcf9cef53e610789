//! The values of parameters: `coerce` casts them to the types that their positions need, `function_parameters` passes them to table
//! functions, which are called during planning, and `grouping_sets` prepares grouping sets for them. `numbers` finds the parameters of a text.

mod coerce;
mod function_parameters;
mod grouping_sets;
mod numbers;

pub(crate) use coerce::{any_length, check_shape, fitted, has_any_shape, valid_values, values_of, wrong_count};
pub(crate) use function_parameters::{ArgumentParameters, FunctionParameters};
pub(crate) use grouping_sets::with_columns_of_sets;
pub(crate) use numbers::{parameter_number, parameter_numbers};
