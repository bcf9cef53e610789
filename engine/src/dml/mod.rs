//! Statements that change rows: DELETE, UPDATE, MERGE, TRUNCATE and INSERT … ON CONFLICT.
//!
//! Each becomes one query that finds the rows and says what becomes of them, and a node above it
//! that changes them. The way of a statement:
//!
//! 1. `statement` finds it, also where it is explained or prepared, and puts a query in its place;
//! 2. `delete`, `update`, `merge` and `upsert` write that query: its FROM has the target under a
//!    name of ours (`private_names`) with its row ids, its columns are the expressions of the statement;
//! 3. DataFusion plans it, which is where names and types are found out;
//! 4. `plan` makes of those expressions the rows to be changed: id, action, new values;
//! 5. `node` is the plan's top, `sink` what runs: it gathers all and changes the table at once.
//!
//! `insert_defaults` puts the defaults of columns into any INSERT, before that.
//!
//! Invariant: nothing is applied before the query has ended, and the query reads one snapshot. So
//! no statement meets rows of its own.

mod assign;
mod conflict_key;
mod count;
mod delete;
mod insert_defaults;
mod merge;
mod node;
mod operation;
mod plan;
mod private_names;
mod retry;
mod select;
mod sides;
mod sink;
mod statement;
mod target;
mod update;
mod upsert;

pub(crate) use count::count;
pub(crate) use node::{RowChangePlanner, is_change};
pub(crate) use retry::Retry;
