//! The schema `system`: what the store and the engine are doing, as tables that can only be read.
//! `docs/system-tables.md` is their contract.
//!
//! A table is made when a query that names it is planned, from the snapshot of the statement: in a
//! transaction it shows what the transaction sees. Each file has one table; `source.rs` is what they
//! are made from, `build.rs` how; `view_redaction.rs` looks for names in the text of a view that its reader may not know of.

mod build;
mod columns;
mod compactions;
mod grants;
mod provider;
mod queries;
mod segments;
mod settings;
mod snapshots;
mod source;
mod tables;
mod transactions;
mod users;
mod view_redaction;

pub(crate) use build::instants;
pub(crate) use grants::{GrantRow, grant_rows, grants_batch};
pub(crate) use provider::{SystemSchema, SystemTable, table_names};
