//! Transactions: changes to a store that become visible together, by one publish.
//!
//! A transaction works on a copy of the catalog's state and keeps a list of its changes. It
//! holds no lock: the first commit wins, and a commit that meets another's change of the same
//! rows or names fails ([`StoreError::Conflict`]).

mod alter;
mod append;
mod apply;
mod begin;
mod change;
mod commit;
mod flush_pending;
mod handle;
mod logs;
mod materialize;
mod parts;
mod persist;
mod preconditions;
mod restoration;
mod restore;
mod row_remap;

pub use append::{Acknowledgement, TableVersion};
pub use handle::{CommitCheck, Savepoint, Transaction};
pub use parts::{NewTable, TableAlteration};
