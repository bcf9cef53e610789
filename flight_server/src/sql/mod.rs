//! What Flight SQL asks for.
//!
//! - [`statements`] — SQL and plans that run once, and the tickets of results; [`prepared`] statements with bound parameters
//! - [`transactions`] — transactions and savepoints by handle
//! - [`ingest`] — rows in
//! - [`metadata`] — catalogs, schemas, tables, types, what the server can do

pub mod ingest;
pub mod metadata;
pub mod prepared;
pub mod statements;
pub mod transactions;
