//! Record batches to Flight messages and back.
//!
//! - [`outgoing`] — encodes a result while it is computed; [`message`] is one message, whose rows stay in place
//! - [`prefetch`] — encodes a large result on another thread than the one that sends it
//! - [`incoming`] — decodes messages to batches; `expanded_size` bounds their memory
//! - [`send_budget`] — bounds the bytes that clients have not read yet
//! - [`client_options`] — the headers by which a client chooses the form of results
//!
//! Code that clients use as well is in `flight_wire`.

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

/// A schema as Flight encodes it in FlightInfo, SchemaResult and prepared statements.
pub fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &options)).map_err(arrow_status)?;
    Ok(message.0)
}
