//! A row for each statement of a user: who ran what, when, and with which outcome. `system.audit` shows them.
//!
//! Rows wait in memory for at most a second and are then added to a table of the store together, with asynchronous durability: no
//! statement waits for the disk because of them. The table is in the schema `system`, so no statement can write to it.
//! A refused login has a row too (`refused.rs`).

mod entry;
mod expiry;
mod refused;
mod table;
mod writer;

pub(crate) use self::table::{retention_ms, set_retention_ms};
pub(crate) use entry::Audited;
pub(crate) use writer::{AuditWriter, OpenAuditWriter};
