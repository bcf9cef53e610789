//! The first rows of each group: `row_number() OVER (PARTITION BY g ORDER BY x) <= k` sorts few of the rows.
//!
//! DataFusion has a rule for this, `WindowTopN`, which is off: its operator copies a batch for each group of each batch, and the rule takes away
//! rows that other functions of the same window need.
//!
//! - `rule`: finds such a condition in a plan, and puts the operator below the sort of its window; `exec`: the operator
//! - `bounds`: the k-th best row of each group so far; `keys`: the order of rows as integers

mod bounds;
mod exec;
mod keys;
mod rule;

pub use rule::RankLimits;
