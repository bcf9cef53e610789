//! The wire formats of rows.
//!
//! - [`plain`] — the types that every client reads; [`views`] converts columns of views, and [`jdbc`] adapts types to the JDBC driver
//! - [`split`] — splits batches to the size of messages
//! - [`column_facts`] — the metadata of columns for JDBC and ADBC

mod column_facts;
mod jdbc;
mod plain;
mod split;
mod views;

pub use column_facts::{Origin, annotated};
pub use plain::{WireTypes, for_wire, parameter_schema, to_wire, wire_schema, without_views};
pub use split::{MESSAGE_BYTES, batch_bytes, pieces, pieces_of};
