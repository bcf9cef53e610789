//! Rows in the forms in which they travel.
//!
//! - [`plain`] — the types a client reads, with the texts that [`views`] makes, and [`jdbc`] those that the JDBC driver reads and binds
//! - [`split`] — batches cut to size
//! - [`column_facts`] — what JDBC and ADBC read of each column

mod column_facts;
mod jdbc;
mod plain;
mod split;
mod views;

pub use column_facts::{Origin, annotated};
pub use plain::{WireTypes, for_wire, parameter_schema, to_wire, wire_schema, without_views};
pub use split::{MESSAGE_BYTES, batch_bytes, pieces, pieces_of};
