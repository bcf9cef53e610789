//! Rows to a record: an Arrow IPC record batch message behind a header that is filled in when the
//! record gets its place.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::DataType::{Binary, BinaryView, Boolean, Utf8, Utf8View};
use arrow::datatypes::{ByteViewType, SchemaRef};
use arrow::error::ArrowError;
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use parking_lot::Mutex;

use super::commits::{Commit, put_commits};
use super::format::{RECORD_HEADER_BYTES, RecordHeader};
use crate::ZONE_ROWS;
use crate::checksum::xxh3;
use crate::error::Result;
use crate::segment::{ALIGNMENT, cast_to, compact};

/// An encoder whose buffer has grown larger is not kept.
const IDLE_BYTES_MAX: usize = 1 << 20;
const IDLE_ENCODERS_MAX: usize = 16;

/// The writer of an IPC stream is used again for every record, so that its buffers are: making one
/// costs more than encoding a row.
type Encoder = StreamWriter<Vec<u8>>;

/// Encoders of one schema that are not in use.
pub(super) struct Encoders {
    schema: SchemaRef,
    idle: Mutex<Vec<Encoder>>,
}

/// Rows encoded for a log, not yet a part of it.
pub struct PreparedRecord {
    pool: Arc<Encoders>,
    /// None only while it is dropped.
    encoder: Option<Encoder>,
    row_count: u32,
    message_bytes: u32,
    payload_xxh3: u64,
}

impl Encoders {
    pub fn new(schema: SchemaRef) -> Arc<Encoders> {
        Arc::new(Encoders { schema, idle: Mutex::default() })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The schema as a message.
    pub fn schema_message(&self) -> Result<Vec<u8>> {
        Ok(self.new_encoder()?.get_ref().clone())
    }

    fn new_encoder(&self) -> Result<Encoder> {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
        Ok(StreamWriter::try_new_with_options(Vec::new(), &self.schema, options)?)
    }

    /// Columns are matched by position and cast to the physical type where they differ.
    pub fn encode(self: &Arc<Self>, batch: &RecordBatch) -> Result<PreparedRecord> {
        if batch.num_rows() == 0 {
            return Err(ArrowError::InvalidArgumentError("a record of a log has at least one row".into()).into());
        }
        let too_many = || ArrowError::InvalidArgumentError("a record of a log has fewer than 2^32 rows".into());
        u32::try_from(batch.num_rows()).map_err(|_| too_many())?;
        self.record(&self.fitted(batch)?, &[])
    }

    /// A record of rows that are fitted, of fewer than 2^32. Several commits are named in it.
    pub fn record(self: &Arc<Self>, batch: &RecordBatch, commits: &[Commit]) -> Result<PreparedRecord> {
        let idle = self.idle.lock().pop();
        let mut encoder = match idle {
            Some(encoder) => encoder,
            None => self.new_encoder()?,
        };
        let bytes = encoder.get_mut();
        bytes.clear();
        bytes.resize(RECORD_HEADER_BYTES, 0);
        encoder.write(batch)?;
        if commits.len() > 1 {
            put_commits(encoder.get_mut(), commits);
        }
        let payload = &encoder.get_ref()[RECORD_HEADER_BYTES..];
        let mut length = [0; 4];
        length.copy_from_slice(&payload[4..8]);
        Ok(PreparedRecord {
            row_count: batch.num_rows() as u32,
            // 8: the continuation marker and the length itself.
            message_bytes: u32::from_le_bytes(length) + 8,
            payload_xxh3: xxh3(payload),
            pool: Arc::clone(self),
            encoder: Some(encoder),
        })
    }

    /// The rows in the physical schema, with nothing behind them that they do not show.
    fn fitted(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let (found, expected) = (batch.num_columns(), self.schema.fields().len());
        if found != expected {
            let what = format!("a batch of {found} columns was given for a table of {expected}");
            return Err(ArrowError::SchemaError(what).into());
        }
        if self.fits_as_it_is(batch) {
            return Ok(batch.clone());
        }
        let fields = self.schema.fields().iter();
        let columns = fields.zip(batch.columns()).map(|(field, column)| -> Result<ArrayRef> {
            let column = cast_to(column, field.data_type())?;
            Ok(compact(&column))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

impl Encoders {
    /// Putting a batch together anew takes as long as encoding a row, and most rows need it not.
    fn fits_as_it_is(&self, batch: &RecordBatch) -> bool {
        self.schema.fields().iter().zip(batch.columns()).all(|(field, column)| {
            let has_nulls = column.null_count() > 0;
            column.data_type() == field.data_type() && (field.is_nullable() || !has_nulls) && is_compact(column)
        })
    }
}

/// Whether writing the array writes what it shows and no more. A no may be wrong.
fn is_compact(array: &ArrayRef) -> bool {
    match array.data_type() {
        Utf8 | Binary | Boolean => true,
        Utf8View => holds_what_it_shows(array.as_string_view()),
        BinaryView => holds_what_it_shows(array.as_binary_view()),
        other => other.is_primitive(),
    }
}

fn holds_what_it_shows<T: ByteViewType>(array: &GenericByteViewArray<T>) -> bool {
    match array.data_buffers() {
        [] => true,
        [buffer] => array.len() <= ZONE_ROWS && buffer.len() == array.total_buffer_bytes_used(),
        _ => false,
    }
}

impl PreparedRecord {
    pub fn row_count(&self) -> u64 {
        u64::from(self.row_count)
    }

    /// What the record takes in a log.
    pub fn size_bytes(&self) -> u64 {
        self.bytes().len() as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.encoder.as_ref().map_or(&[], |encoder| encoder.get_ref())
    }

    /// Makes the record the one that follows the record with the checksum `previous`; returns its own.
    pub(super) fn place(&mut self, previous: u64, session: u64, version: u64, committed_at_ms: u64, flags: u16) -> u64 {
        let header = RecordHeader {
            checksum: 0,
            previous,
            session,
            version,
            row_count: self.row_count,
            message_bytes: self.message_bytes,
            body_bytes: self.size_bytes() - RECORD_HEADER_BYTES as u64 - u64::from(self.message_bytes),
            flags,
            committed_at_ms,
        };
        let header = header.with_checksum(self.payload_xxh3);
        if let Some(encoder) = &mut self.encoder {
            encoder.get_mut()[..RECORD_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        }
        header.checksum
    }
}

impl Drop for PreparedRecord {
    fn drop(&mut self) {
        let Some(encoder) = self.encoder.take() else { return };
        if encoder.get_ref().capacity() > IDLE_BYTES_MAX {
            return;
        }
        let mut idle = self.pool.idle.lock();
        if idle.len() < IDLE_ENCODERS_MAX {
            idle.push(encoder);
        }
    }
}

impl std::fmt::Debug for PreparedRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PreparedRecord({} rows, {} bytes)", self.row_count, self.size_bytes())
    }
}
