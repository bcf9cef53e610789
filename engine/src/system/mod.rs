//! The schema `system`: the state of the store and the engine as read-only tables. `docs/system-tables.md` is their contract.
//!
//! A table is built when a query that names it is planned, from the snapshot of the statement: in a transaction it shows what the
//! transaction sees. Each file has one table; `source.rs` has the data for all of them, `build.rs` builds columns; `view_redaction.rs`
//! searches the text of a view for names that its reader may not know.

mod arrays;
mod blobs;
mod build;
mod catalog_context;
mod columns;
mod compactions;
mod functions;
mod grants;
mod group_members;
mod listing;
mod moves;
mod objects;
mod prefetches;
mod provider;
mod pushed_filters;
mod queries;
mod segments;
mod settings;
mod snapshots;
mod source;
mod tables;
mod tags;
mod transactions;
mod users;
mod view_redaction;

pub(crate) use build::instants;
pub(crate) use grants::{GrantRow, grant_rows, grants_batch};
pub(crate) use listing::system_listing;
pub(crate) use objects::objects_batch;
pub(crate) use provider::SystemTable;
