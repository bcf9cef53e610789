//! Window functions of rows that are sorted: each is computed in one pass, because its frame begins where its group does.
//!
//! These are `row_number`, `rank` and `dense_rank`, and `count`, `sum`, `avg`, `min` and `max` of numbers from the start of the group to the
//! row, to the last row that is equal in the order, or to the end of the group. DataFusion computes each group by itself, five microseconds
//! for a group of one row, and each row by a call of the aggregate.
//!
//! - `function`: the functions, found in a window; `rule`: finds windows that have no others; `exec`: the operator
//! - `stream`: rows with their results, which wait until these are complete; `runs`: groups and equal rows in a batch
//! - `ranks`, `rank_kind`: ranks; `aggregate`: aggregates after each row

mod aggregate;
mod exec;
mod function;
mod rank_kind;
mod ranks;
mod rule;
mod runs;
mod stream;

pub use rank_kind::{RankKind, is_same_rank, kind_of};
pub use rule::{RunningWindows, is_replaced};
