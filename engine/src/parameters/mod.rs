//! The values of parameters: `coerce` brings them into the types that belong where they stand, `function_parameters` gives them to table
//! functions, which are called while a statement is planned. `numbers` finds the parameters of a text.

mod coerce;
mod function_parameters;
mod numbers;

pub(crate) use coerce::{any_length, check_shape, fitted, has_any_shape, valid_values, values_of, wrong_count};
pub(crate) use function_parameters::{FunctionParameters, Taken};
pub(crate) use numbers::{parameter_number, parameter_numbers};
