//! A message of a result: the same bytes as `FlightData`, but its body stays in place, in the mapped file
//! or in the computed batch. Large buffers stay there until the socket takes them, and small ones are copied once.
//!
//! **Invariant:** nothing in place goes through TLS. The kernel reads buffers in place when they are written to the
//! socket, and if the file was truncated since, the write fails and the connection ends. A cipher would read in
//! this process, which sees zeros in place of lost pages, after the query has checked its files for the last time.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{IpcWriteOptions, StreamEncoder};
use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use tonic::Status;

use super::send_budget::{CreditKind, CreditShare, StreamCredit, counted};

/// Smaller pieces are joined, so that a message of very many columns does not consist of very many pieces.
const COPIED_BYTES_MAX: usize = 16 << 10;
/// The prefix of an IPC message: a marker and the length of the header.
const PREFIX_BYTES: usize = 8;
/// The prefix of a gRPC message: the compression flag and its length.
const GRPC_PREFIX_BYTES: usize = 5;
/// The fields of `FlightData` in Flight.proto.
const HEADER_FIELD: u32 = 2;
const METADATA_FIELD: u32 = 3;
const BODY_FIELD: u32 = 1000;

#[derive(Clone, Default)]
pub struct Message {
    header: Bytes,
    metadata: Bytes,
    body: Vec<Bytes>,
    /// Its share of the send budget; `None` if it is not counted.
    share: Option<Arc<CreditShare>>,
}

impl Message {
    pub fn with_metadata(self, metadata: Bytes) -> Message {
        Message { metadata, ..self }
    }

    /// It counts in the lane until its last byte is sent.
    pub fn counted_in(self, credit: &Arc<StreamCredit>) -> Message {
        let bytes = self.header.len() + self.metadata.len() + self.body.iter().map(Bytes::len).sum::<usize>();
        Message { share: Some(Arc::new(credit.hold(CreditKind::Message, bytes))), ..self }
    }

    /// The bytes of the message on the wire, in order. With `in_place`, large buffers are those of the batch.
    pub fn into_wire(self, in_place: bool) -> Result<VecDeque<Bytes>, Status> {
        let body_bytes: usize = self.body.iter().map(Bytes::len).sum();
        let fields = [(HEADER_FIELD, self.header.len()), (METADATA_FIELD, self.metadata.len()), (BODY_FIELD, body_bytes)];
        let message_bytes = fields.iter().map(|(field, length)| field_bytes(*field, *length)).sum::<usize>();
        let message_length = u32::try_from(message_bytes).map_err(|_| {
            Status::resource_exhausted(format!("a message of the result has {message_bytes} bytes, and 4 GiB are what one holds"))
        })?;
        let is_large = |piece: &Bytes| in_place && piece.len() >= COPIED_BYTES_MAX;
        let large_bytes: usize = self.body.iter().filter(|piece| is_large(piece)).map(Bytes::len).sum();
        // Room for all copied bytes, which is split into the pieces between the large buffers.
        let mut small = BytesMut::with_capacity(GRPC_PREFIX_BYTES + message_bytes - large_bytes);
        small.put_u8(0);
        small.put_u32(message_length);
        put_field(&mut small, HEADER_FIELD, self.header.len());
        small.put(self.header);
        put_field(&mut small, METADATA_FIELD, self.metadata.len());
        small.put(self.metadata);
        put_field(&mut small, BODY_FIELD, body_bytes);
        let mut wire = VecDeque::with_capacity(2 * self.body.len() + 1);
        for piece in self.body {
            if !is_large(&piece) {
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
        if let Some(share) = &self.share {
            wire = wire.into_iter().flat_map(|piece| counted(piece, share)).collect();
        }
        Ok(wire)
    }
}

/// The header of a field with this many bytes. An empty field is left out.
fn field_bytes(field: u32, length: usize) -> usize {
    match length {
        0 => 0,
        _ => key_len(field) + encoded_len_varint(length as u64) + length,
    }
}

fn put_field(bytes: &mut BytesMut, field: u32, length: usize) {
    if length > 0 {
        encode_key(field, WireType::LengthDelimited, bytes);
        encode_varint(length as u64, bytes);
    }
}

/// Encodes batches of one schema to messages.
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
        // Encoding the first batch also yields the message of the schema.
        let mut first = split(batches.encode(&RecordBatch::new_empty(schema.clone()))?)?.into_iter();
        let schema_message = first.next().ok_or_else(|| broken("has no message"))?;
        Ok(Encoder { batches, schema: SchemaRef::clone(schema), schema_message })
    }

    /// The first message of a stream.
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

/// Splits an IPC stream into its messages: each is a prefix, a header, and a body, whose length is in the header.
fn split(buffers: Vec<Buffer>) -> Result<Vec<Message>, ArrowError> {
    let mut buffers = VecDeque::from(buffers);
    let mut messages = Vec::new();
    while !buffers.is_empty() {
        let prefix = joined(take(&mut buffers, PREFIX_BYTES)?);
        let header_bytes = prefix.last_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
        let header = joined(take(&mut buffers, header_bytes.unwrap_or(0))?);
        let body_bytes = root_as_message(&header).map_err(|_| broken("has a damaged header"))?.bodyLength();
        let body = take(&mut buffers, usize::try_from(body_bytes).map_err(|_| broken("has a body of negative length"))?)?;
        messages.push(Message { header, body, ..Message::default() });
    }
    Ok(messages)
}

/// The next `count` bytes, without copying them.
fn take(buffers: &mut VecDeque<Buffer>, mut count: usize) -> Result<Vec<Bytes>, ArrowError> {
    let mut pieces = Vec::new();
    while count > 0 {
        let mut first = buffers.pop_front().ok_or_else(|| broken("ends too early"))?;
        if first.len() > count {
            buffers.push_front(first.slice(count));
            first = first.slice_with_length(0, count);
        }
        count -= first.len();
        if !first.is_empty() {
            pieces.push(Bytes::from_owner(SharedBuffer(first)));
        }
    }
    // An empty buffer is dropped.
    while buffers.front().is_some_and(Buffer::is_empty) {
        buffers.pop_front();
    }
    Ok(pieces)
}

struct SharedBuffer(Buffer);

impl AsRef<[u8]> for SharedBuffer {
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
