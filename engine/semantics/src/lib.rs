//! SQL semantics that differ from DataFusion's: functions, casts, optimizer rules, and operators that can be cancelled quickly.
//!
//! - [`functions`] — functions with the names of DataFusion's, and functions that replace operators and casts
//! - [`optimizer`] — rules that run among DataFusion's own
//! - [`integer_set`] — sets of integers as bitmaps
//! - [`subplans`] — parts of a plan that run once, and whose rows are read several times
//! - [`cancel`] — operators and expressions that stop with their query

pub mod cancel;
pub mod functions;
pub mod integer_set;
pub mod optimizer;
pub mod plan_order;
pub mod subplans;
