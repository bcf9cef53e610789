//! Temporary tables: rows in memory that belong to one session and end with it.
//!
//! - [`tables`] — the tables of a session, by name
//! - [`rows`] — the rows that one statement has added, and the memory that they take
//! - [`schema`] — the schema `temp`, in which they are found
//! - [`table`] — a temporary table as DataFusion sees it, and [`sink`], INSERT into it
//! - [`scan`] — the scan of a temporary table
//!
//! A statement reads a table as of when it was planned: later changes, and even a drop, only affect later statements.
//!
//! **Invariant:** a session never finds a table of another one, and the store contains nothing of them: transactions, versions, grants
//! and backups do not know them.

mod rows;
mod scan;
mod schema;
mod sink;
mod table;
mod tables;

pub use self::table::TemporaryTable;
pub use rows::ChunkBuilder;
pub use schema::TemporarySchema;
pub use tables::{TemporaryRows, TemporaryTables, VOLATILE};
