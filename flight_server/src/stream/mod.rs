//! Record batches to Flight messages and back.
//!
//! - [`outgoing`] — a result as messages, while it is made; [`message`] is one, whose rows stay where they lie
//! - [`ahead`] — a large result is made on another thread than it is sent from
//! - [`incoming`] — messages as batches; `unpacked` what their rows come to
//! - [`unsent`] — how much is made ahead of those who read
//! - [`wishes`] — the headers by which a client asks for something else
//!
//! What a client does with messages too is in `flight_wire`.

mod ahead;
mod incoming;
mod message;
mod outgoing;
mod unpacked;
mod unsent;
mod wishes;

pub use ahead::ahead;
pub use incoming::{Batches, incoming};
pub use message::Message;
pub use outgoing::{Cancel, FlightStream, Outgoing, of_batches};
pub use unsent::{Lane, Unsent};
pub use wishes::Wishes;

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
