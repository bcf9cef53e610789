//! A message of a result as it is sent: what `FlightData` is, with a body that stays where it lies, in the mapped file
//! or in the batch that was computed. Large buffers stay there until the socket takes them, small ones are copied once.
//!
//! What is sent is read when it is written to the socket. A file that is cut short in between ends the connection, as the
//! system refuses to read what is no more; and a query looks at its files again before it says that it has ended well.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{IpcWriteOptions, StreamEncoder};
use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint};

/// Pieces of less are put together: each piece is written to the socket by itself, which costs more than the copy.
const COPIED_BYTES_MAX: usize = 96 << 10;
/// Of an IPC message, before its header: a mark and the header's length.
const PREFIX_BYTES: usize = 8;
/// Of a gRPC message: whether it is compressed, and its length.
const GRPC_PREFIX_BYTES: usize = 5;
/// The fields of `FlightData` in Flight.proto.
const HEADER_FIELD: u32 = 2;
const METADATA_FIELD: u32 = 3;
const BODY_FIELD: u32 = 1000;

#[derive(Debug, Clone, Default)]
pub struct Message {
    header: Bytes,
    metadata: Bytes,
    body: Vec<Bytes>,
}

impl Message {
    pub fn with_metadata(self, metadata: Bytes) -> Message {
        Message { metadata, ..self }
    }

    /// The bytes of the message on the wire, in order.
    pub fn into_wire(self) -> VecDeque<Bytes> {
        let body_bytes: usize = self.body.iter().map(Bytes::len).sum();
        let mut fields = BytesMut::new();
        put_bytes(&mut fields, HEADER_FIELD, &self.header);
        put_bytes(&mut fields, METADATA_FIELD, &self.metadata);
        if body_bytes > 0 {
            encode_key(BODY_FIELD, WireType::LengthDelimited, &mut fields);
            encode_varint(body_bytes as u64, &mut fields);
        }
        let mut small = BytesMut::with_capacity(GRPC_PREFIX_BYTES + fields.len());
        small.put_u8(0);
        small.put_u32((fields.len() + body_bytes) as u32);
        small.put(fields);
        let mut wire = VecDeque::with_capacity(2 * self.body.len() + 1);
        for piece in self.body {
            if piece.len() < COPIED_BYTES_MAX {
                small.put(piece);
                continue;
            }
            if !small.is_empty() {
                wire.push_back(small.split().freeze());
            }
            wire.push_back(piece);
        }
        if !small.is_empty() {
            wire.push_back(small.freeze());
        }
        wire
    }
}

fn put_bytes(fields: &mut BytesMut, field: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        encode_key(field, WireType::LengthDelimited, fields);
        encode_varint(bytes.len() as u64, fields);
        fields.put_slice(bytes);
    }
}

impl From<Message> for FlightData {
    fn from(message: Message) -> FlightData {
        let body: Vec<u8> = message.body.iter().flat_map(|piece| piece.iter().copied()).collect();
        FlightData::new().with_data_header(message.header).with_app_metadata(message.metadata).with_data_body(body)
    }
}

/// Makes messages of batches of one schema.
///
/// **Invariant:** the schema has no dictionaries, so a batch is one message; `plain` sees to it.
pub struct Encoder {
    batches: StreamEncoder,
    schema: SchemaRef,
    schema_message: Message,
}

impl Encoder {
    pub fn new(schema: &SchemaRef, options: IpcWriteOptions) -> Result<Encoder, ArrowError> {
        let mut batches = StreamEncoder::try_new_with_options(schema, options)?;
        // The first batch brings the schema's message along.
        let mut first = split(batches.encode(&RecordBatch::new_empty(schema.clone()))?)?.into_iter();
        let schema_message = first.next().ok_or_else(|| broken("has no message"))?;
        Ok(Encoder { batches, schema: SchemaRef::clone(schema), schema_message })
    }

    /// What a stream begins with.
    pub fn schema(&self) -> Message {
        self.schema_message.clone()
    }

    pub fn batch(&mut self, batch: &RecordBatch) -> Result<Message, ArrowError> {
        let mut messages = split(self.batches.encode(batch)?)?.into_iter();
        match (messages.next(), messages.next()) {
            (Some(message), None) => Ok(message),
            _ => Err(broken("is not one message for a batch")),
        }
    }

    /// A batch without rows.
    pub fn empty(&mut self) -> Result<Message, ArrowError> {
        self.batch(&RecordBatch::new_empty(SchemaRef::clone(&self.schema)))
    }
}

/// An IPC stream in its messages: each a prefix, a header, and a body of the length that the header says.
fn split(buffers: Vec<Buffer>) -> Result<Vec<Message>, ArrowError> {
    let mut left = VecDeque::from(buffers);
    let mut messages = Vec::new();
    while !left.is_empty() {
        let prefix = joined(take(&mut left, PREFIX_BYTES)?);
        let header_bytes = prefix.last_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
        let header = joined(take(&mut left, header_bytes.unwrap_or(0))?);
        let body_bytes = root_as_message(&header).map_err(|_| broken("has a damaged header"))?.bodyLength();
        let body = take(&mut left, usize::try_from(body_bytes).map_err(|_| broken("has a body of negative length"))?)?;
        messages.push(Message { header, metadata: Bytes::new(), body });
    }
    Ok(messages)
}

/// The next `count` bytes, without copying them.
fn take(left: &mut VecDeque<Buffer>, mut count: usize) -> Result<Vec<Bytes>, ArrowError> {
    let mut taken = Vec::new();
    while count > 0 {
        let mut first = left.pop_front().ok_or_else(|| broken("ends too early"))?;
        if first.len() > count {
            left.push_front(first.slice(count));
            first = first.slice_with_length(0, count);
        }
        count -= first.len();
        if !first.is_empty() {
            taken.push(Bytes::from_owner(Held(first)));
        }
    }
    // What has no bytes has no place either.
    while left.front().is_some_and(Buffer::is_empty) {
        left.pop_front();
    }
    Ok(taken)
}

struct Held(Buffer);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn joined(pieces: Vec<Bytes>) -> Bytes {
    match <[Bytes; 1]>::try_from(pieces) {
        Ok([piece]) => piece,
        Err(pieces) => pieces.concat().into(),
    }
}

fn broken(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("what was encoded {what}; please report it"))
}

#[cfg(test)]
mod tests;
