//! A row for each statement of a user: who ran what, when, and what came of it. `system.audit` is where they are read.
//!
//! Rows wait in memory for at most a second and are then added to a table of the store together, to be durable soon:
//! a statement waits for no disk because of them. The table lies in the schema `system`, so nobody can name it to write to it.
//! A login that was refused has a row too (`refused.rs`).

mod entry;
mod expiry;
mod refused;
mod table;
mod writer;

pub(crate) use entry::Audited;
pub(crate) use table::{check_not_audit, retention_ms, set_retention_ms};
pub(crate) use writer::{AuditWriter, OpenAuditWriter};
