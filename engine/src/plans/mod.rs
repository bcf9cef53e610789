//! Plans that were made elsewhere, and plans of ours for elsewhere: what they are read with, and what they are about.
//!
//! The engine knows no format of plans. Whoever does makes a logical plan out of one, with a [`PlanContext`], and hands it to
//! `Session::execute_plan_of`; from there on it is a statement as any other.

mod binding;
mod context;
mod reads;

pub use binding::Binding;
pub use context::PlanContext;
pub(crate) use reads::check_reads;
