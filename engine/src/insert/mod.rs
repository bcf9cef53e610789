//! Fast inserts of few rows, without the planner: `INSERT INTO t VALUES (literals)` and batches that a program hands over.
//!
//! 1. `statement` recognises the statement by its tokens, which `tokens` finds; `literal` makes columns of its values;
//! 2. `target` is the table with its rules, cached between statements while the catalog does not change it;
//! 3. `batch` converts the rows of a batch into the types and the order of the target.
//!
//! A session checks the rules and appends the rows to the table's log, or to a transaction (`session/insert.rs`, `session/append.rs`).
//!
//! **Invariant:** a statement that is not exactly of this form, or has a value that needs more than the simplest conversion, is planned
//! like all others. So its semantics and errors are defined in one place, and this path only does the same faster
//! (`inserts_past_the_planner_store_what_planned_ones_do`).

mod batch;
mod literal;
mod statement;
mod target;
mod tokens;

pub(crate) use batch::rows_of_batch;
pub(crate) use statement::{InsertValues, insert_values};
pub(crate) use target::{InsertTarget, InsertTargetCache};
