//! A record back to rows, over the bytes where they lie.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MetadataVersion};

use super::format::{RECORD_HEADER_BYTES, RecordHeader};
use crate::error::{Result, StoreError};
use crate::mapping::Mapping;

/// Reads records of one log.
pub(super) struct Decoder<'a> {
    mapping: &'a Arc<Mapping>,
    decoder: FileDecoder,
}

impl<'a> Decoder<'a> {
    /// One that holds every value against its type.
    pub fn validating(mapping: &'a Arc<Mapping>, schema: &SchemaRef) -> Decoder<'a> {
        Decoder { mapping, decoder: FileDecoder::new(Arc::clone(schema), MetadataVersion::V5).with_require_alignment(true) }
    }

    pub fn new(mapping: &'a Arc<Mapping>, schema: &SchemaRef) -> Decoder<'a> {
        let Decoder { mapping, decoder } = Decoder::validating(mapping, schema);
        // SAFETY: records before the end of a log were appended by this process, or verified against
        // their checksum when it was opened, and have the schema in the log's header, which was
        // compared with `schema` then. They never change. Held by
        // `a_log_ends_before_a_record_with_any_bit_flipped` and `a_log_of_another_schema_is_not_opened`.
        let decoder = unsafe { decoder.with_skip_validation(true) };
        Decoder { mapping, decoder }
    }

    /// The record at `offset`, which is one of the log's.
    pub fn decode(&self, offset: u64) -> Result<RecordBatch> {
        let start = offset as usize;
        let header = record_header(self.mapping.slice(start, RECORD_HEADER_BYTES)?);
        // Zeros, where the page was lost.
        let header = header.ok_or_else(|| cut_short(self.mapping.path(), offset))?;
        let payload_bytes = header.record_bytes() as usize - RECORD_HEADER_BYTES;
        let payload = self.mapping.buffer(start + RECORD_HEADER_BYTES, payload_bytes)?;
        let block = Block::new(0, header.message_bytes as i32, header.body_bytes as i64);
        let batch = self.decoder.read_record_batch(&block, &payload)?;
        batch.ok_or_else(|| StoreError::damaged(self.mapping.path(), offset, "a record is not a record batch"))
    }
}

/// The header in a slice of its length.
pub(super) fn record_header(bytes: &[u8]) -> Option<RecordHeader> {
    bytes.first_chunk().and_then(RecordHeader::parse)
}

pub(super) fn cut_short(path: &Path, offset: u64) -> StoreError {
    StoreError::damaged(path, offset, "it was cut short, or its medium failed, while it was being read")
}
