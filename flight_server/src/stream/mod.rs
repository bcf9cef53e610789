//! Record batches to Flight messages and back.
//!
//! - [`outgoing`] — a result as messages, while it is made; [`message`] is one, whose rows stay where they lie
//! - [`prefetch`] — a large result is made on another thread than it is sent from
//! - [`incoming`] — messages as batches; `expanded_size` what their rows come to
//! - [`send_budget`] — how much is made ahead of those who read
//! - [`client_options`] — the headers by which a client asks for something else
//!
//! What a client does with messages too is in `flight_wire`.

mod client_options;
mod expanded_size;
mod incoming;
mod message;
mod outgoing;
mod prefetch;
mod send_budget;

pub use client_options::ClientOptions;
pub use incoming::{Batches, incoming};
pub use message::Message;
pub use outgoing::{Cancel, FlightStream, ResultEncoder, of_batches};
pub use prefetch::prefetch;
pub use send_budget::{SendBudget, StreamCredit};

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
