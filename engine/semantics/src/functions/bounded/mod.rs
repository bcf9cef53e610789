//! Functions of DataFusion that reserve memory for their result first: `repeat('x', 2000000000)` checks the limit before it takes two
//! gigabytes.
//!
//! - [`function`] — wraps a function with a reservation; the rule in `optimizer/checked_arithmetic.rs` and the template of sessions use it
//! - [`concatenation`] — `||` as such a function
//! - [`values`] — rows of VALUES with calls that must not be evaluated during planning
//! - [`growth`] — an upper bound for the size of a result; [`payload`] — the bytes of arguments

mod concatenation;
mod function;
mod growth;
mod payload;
mod values;

pub use concatenation::concatenated;
pub use function::{bounded_functions, counted, inner_of, is_bounded, with_bounded};
pub use payload::{scalar_bytes, values_bytes};
pub use values::with_computed_values;
