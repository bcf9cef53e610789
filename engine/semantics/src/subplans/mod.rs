//! Operators of a plan that runs some of its parts once and reads their rows several times. `optimizer/common_subplans/` finds these parts.

mod exec;
mod rows;

pub use exec::{CommonSubplansExec, NewSubplanRows, SubplanScanExec, connect_subplans};
pub use rows::SubplanRows;
