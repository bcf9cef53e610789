//! Many small records as batches of [`ZONE_ROWS`] rows, put together once.
//!
//! A chunk that lies in one record is handed out in place and not kept. Others are copied; the copies
//! hold no more than the rows of the log, and go with it. The chunk at the end grows with the log:
//! what was put together is the beginning of what the next reader gets. All logs of the process together keep
//! [`KEPT_BYTES_MAX`]; beyond it chunks are copied for each reader, who counts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat;
use parking_lot::Mutex;

use super::data::LogData;
use super::decode::Decoder;
use super::index::RecordRange;
use crate::error::{Result, StoreError};
use crate::segment::{compact, exact};

/// Four full logs. No query counts these bytes.
const KEPT_BYTES_MAX: usize = 256 << 20;

static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Invariant: a kept chunk holds the first rows of its chunk, and all of them are of several records; [`KEPT_BYTES`] has its
/// bytes.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    batches: Mutex<Vec<Option<RecordBatch>>>,
}

impl Drop for Chunks {
    fn drop(&mut self) {
        let bytes: usize = self.batches.get_mut().iter().map(bytes_of).sum();
        KEPT_BYTES.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn bytes_of(chunk: &Option<RecordBatch>) -> usize {
    chunk.as_ref().map_or(0, RecordBatch::get_array_memory_size)
}

/// Takes `added` bytes for a chunk in place of `removed` ones, if there is room.
fn reserve(added: usize, removed: usize, bytes_max: usize, total: &AtomicUsize) -> bool {
    let new = |before: usize| Some(before - removed + added).filter(|after| *after <= bytes_max);
    total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, new).is_ok()
}

impl Chunks {
    /// Rows `rows` of the log, which are chunk `chunk` or the beginning of it.
    pub fn get(&self, data: &LogData, chunk: usize, rows: std::ops::Range<u64>) -> Result<RecordBatch> {
        let row_count = (rows.end - rows.start) as usize;
        if row_count == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&data.schema)));
        }
        let prefix = self.batches.lock().get(chunk).cloned().flatten();
        if let Some(batch) = prefix.as_ref().filter(|batch| batch.num_rows() >= row_count) {
            return Ok(batch.slice(0, row_count));
        }
        let have = prefix.as_ref().map_or(0, RecordBatch::num_rows);
        let pieces = data.index.read().pieces(rows.start + have as u64..rows.end);
        if pieces.iter().map(|piece| piece.rows).sum::<usize>() + have != row_count {
            return Err(StoreError::damaged(&data.path, 0, "rows were asked for that were taken back"));
        }
        let decoder = Decoder::new(&data.mapping, &data.schema);
        if let ([piece], None) = (pieces.as_slice(), &prefix) {
            return in_place(data, &decoder, piece);
        }
        let decoded = pieces.iter().map(|piece| Ok(decoder.decode(piece.offset)?.slice(piece.start, piece.rows)));
        let parts = prefix.into_iter().map(Ok).chain(decoded).collect::<Result<Vec<_>>>()?;
        let batch = put_together(data, &parts)?;
        // Zeros of a lost page must not be kept.
        if !data.mapping.damaged() {
            self.keep(chunk, &batch);
        }
        Ok(batch)
    }

    fn keep(&self, chunk: usize, batch: &RecordBatch) {
        let mut batches = self.batches.lock();
        if batches.len() <= chunk {
            batches.resize(chunk + 1, None);
        }
        // Another reader may have come further meanwhile.
        let further = batches[chunk].as_ref().is_none_or(|there| there.num_rows() < batch.num_rows());
        let batch = Some(batch.clone());
        if further && reserve(bytes_of(&batch), bytes_of(&batches[chunk]), KEPT_BYTES_MAX, &KEPT_BYTES) {
            batches[chunk] = batch;
        }
    }
}

/// Buffers of their own size, because memory accounting counts what lies behind a buffer.
fn in_place(data: &LogData, decoder: &Decoder<'_>, piece: &RecordRange) -> Result<RecordBatch> {
    let record = decoder.decode(piece.offset)?;
    let slice = record.slice(piece.start, piece.rows);
    let arrays = slice.columns().iter().map(|array| exact(array, &data.mapping)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(piece.rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&data.schema), arrays, &options)?)
}

/// One batch of the rows of all, which holds nothing of theirs.
fn put_together(data: &LogData, parts: &[RecordBatch]) -> Result<RecordBatch> {
    let columns = (0..data.schema.fields().len()).map(|column| -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.column(column).as_ref()).collect();
        // Views would keep a buffer for each record.
        Ok(compact(&concat(&arrays)?))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let rows = parts.iter().map(RecordBatch::num_rows).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&data.schema), columns, &options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_kept_up_to_the_limit_and_one_that_grows_counts_once() {
        let total = AtomicUsize::new(0);
        assert!(reserve(60, 0, 100, &total));
        assert!(reserve(80, 60, 100, &total), "it takes the place of the first");
        assert!(!reserve(30, 0, 100, &total));
        assert_eq!(total.load(Ordering::Relaxed), 80);
    }
}
