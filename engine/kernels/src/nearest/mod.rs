//! The k nearest neighbours, exact: `ORDER BY l2_distance(v, …) LIMIT k` computes most distances only until they are too far.
//!
//! - `rule`: finds such an order in a plan, and puts the operator below its sort; `exec` is the operator
//! - `top_k`: the rows that can still be among the first; `bound` how far the last of them is; `early_abandon` the distance given up early,
//!   `views` what texts of them take

mod bound;
mod early_abandon;
mod exec;
mod rule;
mod top_k;
mod views;

pub use rule::NearestRows;
