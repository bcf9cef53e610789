//! Record batches to Flight messages and back.
//!
//! - [`outgoing`] — a result as messages, while it is made; [`message`] is one, whose rows stay where they lie; `pieces` cuts batches to size, `plain` gives them
//!   the types a client reads, with the texts that `views` makes, and `jdbc` those that the JDBC driver reads and binds
//! - [`ahead`] — a large result is made on another thread than it is sent from
//! - [`incoming`] — messages as batches; `check` holds every length in them against what is there, `unpacked` what the rows come to
//! - [`unsent`] — how much is made ahead of those who read
//! - [`report`] — what a query did, as JSON
//! - [`wishes`] — the headers by which a client asks for something else

mod ahead;
mod check;
mod incoming;
mod jdbc;
mod message;
mod outgoing;
mod pieces;
mod plain;
mod report;
mod unpacked;
mod unsent;
mod views;
mod wishes;

pub use ahead::ahead;
pub use check::check;
pub use incoming::{Batches, decoded, incoming};
pub use message::Message;
pub use outgoing::{Cancel, FlightStream, Outgoing, for_wire, of_batches};
pub use pieces::batch_bytes;
pub use plain::{parameter_schema, wire_schema};
pub use report::{ended_json, progress_json, report_json, report_of_json};
pub use unsent::{Lane, Unsent};
pub use wishes::{BRIEF, VIEW_TYPES, WireTypes, Wishes};

use arrow::datatypes::Schema;
use arrow_flight::{IpcMessage, SchemaAsIpc};
use arrow_ipc::writer::IpcWriteOptions;
use bytes::Bytes;
use tonic::Status;

use crate::error::arrow_status;

/// A schema as Flight has it in FlightInfo, SchemaResult and prepared statements.
pub fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &options)).map_err(arrow_status)?;
    Ok(message.0)
}
