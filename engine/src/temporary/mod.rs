//! Temporary tables: rows in memory that belong to one session and end with it.
//!
//! - [`tables`] — those of a session by name
//! - [`rows`] — what one statement has put into a table, and the memory that it takes
//! - [`schema`] — where they are found: the schema `temp`
//! - [`table`] — one of them as DataFusion sees it, and [`sink`], INSERT into it
//! - [`scan`] — reading one
//!
//! A table is as it was when a statement was planned, for as long as that statement reads it: what is changed or dropped meanwhile is
//! changed for the next one.
//!
//! **Invariant:** no session finds a table of another one, and nothing of them is in the store: neither transactions, versions, grants
//! nor backups know them.

mod rows;
mod scan;
mod schema;
mod sink;
mod table;
mod tables;

pub(crate) use rows::ChunkBuilder;
pub(crate) use schema::TemporarySchema;
pub(crate) use table::TemporaryTable;
pub(crate) use tables::{TemporaryRows, TemporaryTables, VOLATILE};
