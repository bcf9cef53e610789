//! Plans made by other systems, and our plans for other systems: the context in which they are read, and their binding.
//!
//! The engine knows no plan format. The caller makes a logical plan with a [`PlanContext`] and passes it to `Session::execute_plan_of`;
//! from there on it is a statement like any other.

mod binding;
mod context;
mod reads;

pub use binding::Binding;
pub use context::PlanContext;
pub(crate) use reads::check_reads;
