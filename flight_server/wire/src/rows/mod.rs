//! Rows in the forms in which they travel.
//!
//! - [`plain`] — the types a client reads, with the texts that [`views`] makes, and [`jdbc`] those that the JDBC driver reads and binds
//! - [`pieces`] — batches cut to size
//! - [`column_facts`] — what JDBC and ADBC read of each column

mod column_facts;
mod jdbc;
mod pieces;
mod plain;
mod views;

pub use column_facts::{Origin, annotated};
pub use pieces::{MESSAGE_BYTES, batch_bytes, pieces, pieces_of};
pub use plain::{WireTypes, for_wire, lying_plain, parameter_schema, to_wire, wire_schema};
