//! The requests of Flight SQL.
//!
//! - [`statements`] — SQL and plans that run once, and the tickets of results; [`prepared`] prepared statements with bound parameters
//! - [`transactions`] — transactions and savepoints by handle
//! - [`ingest`] — rows that a client sends
//! - [`metadata`] — catalogs, schemas, tables, types, capabilities of the server

pub mod ingest;
pub mod metadata;
pub mod prepared;
pub mod statements;
pub mod transactions;
