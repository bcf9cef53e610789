//! Statements that change rows: DELETE, UPDATE, MERGE, TRUNCATE and INSERT … ON CONFLICT.
//!
//! Each becomes one query that finds the rows and computes what to do with them, and a node above it that changes them. The steps of a
//! statement:
//!
//! 1. `statement` finds it, also inside of EXPLAIN or PREPARE, and replaces it by a query;
//! 2. `delete`, `update`, `merge` and `upsert` write that query: its FROM has the target with row ids under a private name
//!    (`private_names`), its columns are the expressions of the statement;
//! 3. DataFusion plans it, which resolves names and types;
//! 4. `plan` computes from those expressions the rows to be changed: id, action, new values;
//! 5. `node` is the top of the plan, `sink` runs it: it gathers all rows and then changes the table at once.
//!
//! Before that, `insert_defaults` fills the defaults of columns into any INSERT.
//!
//! Invariant: nothing is applied before the query has ended, and the query reads one snapshot. So no statement sees its own rows.

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
mod writable;

pub(crate) use count::count;
pub(crate) use node::{RowChangePlanner, is_change};
pub(crate) use retry::Retry;
pub(crate) use writable::check_writable;
