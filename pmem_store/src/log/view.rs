//! The rows of a log up to a version.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::data::LogData;
use super::decode::{Decoder, cut_short};
use super::format::LogIdentity;
use super::index::Extent;
use crate::ZONE_ROWS;
use crate::error::{Result, StoreError};
use crate::mapping::Mapping;

/// Rows of a log, as they were when it was asked for. Cheap to clone; outlives the log and the name
/// of its file.
#[derive(Debug, Clone)]
pub struct LogView {
    data: Arc<LogData>,
    extent: Extent,
}

impl LogView {
    pub(super) fn new(data: Arc<LogData>, extent: Extent) -> LogView {
        LogView { data, extent }
    }

    pub fn row_count(&self) -> u64 {
        self.extent.rows
    }

    /// What the header and the records take.
    pub fn size_bytes(&self) -> u64 {
        self.extent.end
    }

    /// Of the log.
    pub fn identity(&self) -> LogIdentity {
        self.data.identity
    }

    /// The physical schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.data.schema
    }

    /// Chunks of [`ZONE_ROWS`] rows, the last one of as many as are left.
    pub fn chunk_count(&self) -> usize {
        self.extent.rows.div_ceil(ZONE_ROWS as u64) as usize
    }

    /// The rows of chunk `chunk`, as positions in the log.
    pub fn chunk_rows(&self, chunk: usize) -> std::ops::Range<u64> {
        let start = (chunk as u64).saturating_mul(ZONE_ROWS as u64).min(self.extent.rows);
        start..(start + ZONE_ROWS as u64).min(self.extent.rows)
    }

    /// The rows of one chunk: in place where they are of one record, else put together, once for all
    /// who ask.
    pub fn chunk(&self, chunk: usize) -> Result<RecordBatch> {
        let batch = self.data.chunks.get(&self.data, chunk, self.chunk_rows(chunk))?;
        self.check_intact()?;
        Ok(batch)
    }

    /// Holds every value against its type, whatever the checksums say.
    pub(crate) fn validate(&self) -> Result<()> {
        let decoder = Decoder::validating(&self.data.mapping, &self.data.schema);
        // Rows are appended meanwhile.
        let pieces = self.data.index.read().pieces(0..self.extent.rows);
        for piece in pieces {
            // Arrow panics where a buffer lies outside of its batch.
            let what = match catch_unwind(AssertUnwindSafe(|| decoder.decode(piece.offset))) {
                Ok(Ok(_)) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "a buffer lies outside of its batch".to_string(),
            };
            return Err(StoreError::damaged(&self.data.path, piece.offset, format!("its values are not of their types: {what}")));
        }
        self.check_intact()
    }

    /// All chunks, each with the position of its first row.
    pub fn chunks(&self) -> Result<Vec<(u64, RecordBatch)>> {
        (0..self.chunk_count()).map(|chunk| Ok((self.chunk_rows(chunk).start, self.chunk(chunk)?))).collect()
    }

    /// Where buffers in place lie.
    pub fn mapping(&self) -> &Arc<Mapping> {
        &self.data.mapping
    }

    /// An error when the file was cut short while it was being read. To be asked after computing and
    /// before anything is handed out.
    pub fn check_intact(&self) -> Result<()> {
        if self.data.mapping.damaged() { Err(cut_short(&self.data.path, 0)) } else { Ok(()) }
    }
}
