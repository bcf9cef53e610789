//! The k nearest neighbours, exact: `ORDER BY l2_distance(v, …) LIMIT k` computes most distances only until they are too far.
//!
//! - `rule`: finds such an order in a plan, and puts the operator below its sort; `exec`: the operator
//! - `top_k`: the candidate rows; `bound`: the distance of the last of them; `early_abandon`: distances that are abandoned early;
//!   `views`: the memory of texts in them

mod bound;
mod early_abandon;
mod exec;
mod rule;
mod top_k;
mod views;

pub use rule::NearestRows;
