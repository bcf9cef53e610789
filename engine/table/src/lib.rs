//! The tables of a store: how their rows are read and written, what they must satisfy, and who may use them.
//!
//! - [`catalog`] — tables and views as DataFusion sees them, for one statement with its snapshot and its rights
//! - [`scan`] — reads a table in place
//! - [`store_aggregate`] — aggregates that run in the scan, on the stored bytes
//! - [`sorted_groups`] — groups of a column whose rows are in order
//! - [`write`] — writes rows, in the session's transaction ([`transactions`]) or in one of the statement's own
//! - [`constraints`] — rules for the rows of a table, and the values of columns that a statement omits
//! - [`definition`] — the statements that recreate a table
//! - [`access`] — the principals of sessions, and their rights on tables
//! - [`commit_guard`] — whether a statement may go on, and from when on nothing can stop it
//! - [`temporary`] — tables in memory that end with their session
//! - [`time_zone`], [`physical`] — rows in the types that a session sees, and in the types of a segment
//! - [`remote_tables`] — the trait by which tables of other nodes are reached
//! - [`store_context`] — what tables need of the engine
//!
//! Sessions, statements and maintenance are in `engine`. What a table needs of them comes as values: DataFusion's state of a session, the
//! slot of its transaction, the user's rights, and the tables of one statement.

pub mod access;
pub mod blocking;
pub mod catalog;
pub mod commit_guard;
pub mod constraints;
pub mod definition;
pub mod physical;
pub mod remote_tables;
pub mod scan;
pub mod sorted_groups;
pub mod store_aggregate;
pub mod store_context;
pub mod temporary;
pub mod time_zone;
pub mod transactions;
pub mod user_tables;
pub mod write;
