//! Functions of DataFusion that count what they are about to make: `repeat('x', 2000000000)` asks before it takes two gigabytes.
//!
//! - [`function`] — a function with that in front; the rule in `optimizer/checked_arithmetic.rs` and the template of sessions put it there
//! - [`concatenation`] — `||` as such a function
//! - [`values`] — rows of VALUES with calls that are not made while the plan is
//! - [`growth`] — how much a call makes of its arguments, at most; [`payload`] — what arguments are, in bytes

mod concatenation;
mod function;
mod growth;
mod payload;
mod values;

pub use concatenation::concatenated;
pub use function::{bounded_functions, counted, inner_of, is_bounded, with_bounded};
pub use payload::{scalar_bytes, values_bytes};
pub use values::with_computed_values;
