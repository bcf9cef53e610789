//! Few rows, past the planner: `INSERT INTO t VALUES (literals)` and batches that a program hands over.
//!
//! 1. `statement` recognises the statement by its tokens, which `tokens` finds, `literal` makes columns of its values;
//! 2. `target` is the table with its rules, kept from statement to statement while the catalog says the same of it;
//! 3. `batch` brings the rows of a batch into the types and the order of the target.
//!
//! A session holds the rows to the rules and gives them to the table's log, or to a transaction (`session/insert.rs`, `session/append.rs`).
//!
//! **Invariant:** a statement that is not plainly one of these, or has a value that would need more than the plainest
//! conversion, goes the way of all others. So what it does and how it fails is said in one place, and here
//! is only what is the same but quicker (`inserts_past_the_planner_store_what_planned_ones_do`).

mod batch;
mod literal;
mod statement;
mod target;
mod tokens;

pub(crate) use batch::rows_of_batch;
pub(crate) use statement::{InsertValues, insert_values};
pub(crate) use target::{InsertTarget, InsertTargetCache};
