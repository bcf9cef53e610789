//! A checksum for every byte range of a segment: one per buffer, one per piece of metadata.
//!
//! Kept beside the segment as an Arrow table `(batch, kind, offset, length, xxh3)`. A buffer is
//! verified when a query first touches it, so that opening a segment reads of its data no more than the dictionaries.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, UInt64Type};

use super::footer::{Layout, block_ranges};
use crate::checksum::xxh3;
use crate::error::{Result, StoreError};

const BUFFER: &str = "buffer";
const METADATA: &str = "metadata";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChecksumEntry {
    /// The record batch the range belongs to, -1 for the file's header, dictionaries and footer.
    pub batch: i32,
    pub is_metadata: bool,
    pub offset: u64,
    pub length: u64,
    pub xxh3: u64,
}

/// The checksums of one segment and which of them have been verified in this process.
#[derive(Debug)]
pub struct BufferChecksums {
    /// Sorted by offset; ranges do not overlap.
    entries: Vec<ChecksumEntry>,
    verified: Vec<AtomicU64>,
}

impl BufferChecksums {
    fn new(mut entries: Vec<ChecksumEntry>) -> Self {
        entries.sort_by_key(|entry| entry.offset);
        let words = entries.len().div_ceil(64);
        BufferChecksums { entries, verified: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Computes the checksums of a whole segment file.
    pub(super) fn compute(path: &Path, bytes: &[u8], layout: &Layout) -> Result<Self> {
        let mut entries = Vec::new();
        let mut add = |batch: i32, is_metadata: bool, range: std::ops::Range<usize>| {
            if !range.is_empty() {
                let xxh3 = xxh3(&bytes[range.clone()]);
                entries.push(ChecksumEntry { batch, is_metadata, offset: range.start as u64, length: range.len() as u64, xxh3 });
            }
        };
        let blocks = || layout.blocks.iter().chain(&layout.dictionaries).map(block_ranges);
        let data_start = blocks().map(|(message, _)| message.start).min().unwrap_or(layout.footer.start);
        add(-1, true, 0..data_start);
        for (index, block) in layout.blocks.iter().enumerate() {
            let (message, body) = block_ranges(block);
            add(index as i32, true, message.clone());
            for buffer in body_buffers(path, bytes, &message, &body)? {
                add(index as i32, false, buffer);
            }
        }
        // A dictionary is short, and needed for each of its codes.
        for (message, body) in layout.dictionaries.iter().map(block_ranges) {
            add(-1, true, message.start..body.end);
        }
        let end = blocks().map(|(_, body)| body.end).max().unwrap_or(data_start);
        add(-1, true, end..layout.footer.end);
        Ok(Self::new(entries))
    }

    pub fn entries(&self) -> &[ChecksumEntry] {
        &self.entries
    }

    /// Forgets what was verified, because the file was mapped anew.
    pub(super) fn forget(&self) {
        self.verified.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Verifies the entry that begins at `offset`, once; bytes no entry covers are padding.
    pub(super) fn verify_at(&self, path: &Path, bytes: &[u8], offset: u64) -> Result<()> {
        let index = self.index_at(path, offset)?;
        if !self.is_verified(index) {
            self.verify_entry(path, bytes, &self.entries[index])?;
            self.set_verified(index);
        }
        Ok(())
    }

    pub(super) fn is_verified(&self, index: usize) -> bool {
        self.verified[index / 64].load(Ordering::Acquire) & (1u64 << (index % 64)) != 0
    }

    /// The caller has verified the bytes of this entry.
    pub(super) fn set_verified(&self, index: usize) {
        self.verified[index / 64].fetch_or(1u64 << (index % 64), Ordering::Release);
    }

    /// The same, even if it was verified before.
    pub(super) fn verify_again(&self, path: &Path, bytes: &[u8], offset: u64) -> Result<()> {
        self.verify_entry(path, bytes, &self.entries[self.index_at(path, offset)?])
    }

    /// The entry that begins at `offset`.
    pub(super) fn index_at(&self, path: &Path, offset: u64) -> Result<usize> {
        let index = self.entries.binary_search_by_key(&offset, |entry| entry.offset);
        index.map_err(|_| StoreError::damaged(path, offset, "a buffer begins where none was written"))
    }

    pub(super) fn verify_metadata(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.entries.iter().filter(|entry| entry.is_metadata).try_for_each(|entry| self.verify_entry(path, bytes, entry))
    }

    pub(super) fn verify_entry(&self, path: &Path, bytes: &[u8], entry: &ChecksumEntry) -> Result<()> {
        let range = entry.offset as usize..(entry.offset + entry.length) as usize;
        let slice =
            bytes.get(range).ok_or_else(|| StoreError::damaged(path, bytes.len() as u64, "it is shorter than when it was sealed"))?;
        verify_slice(path, slice, entry)
    }

    pub(super) fn to_batch(&self) -> Result<RecordBatch> {
        let entries = &self.entries;
        let kinds = entries.iter().map(|entry| if entry.is_metadata { METADATA } else { BUFFER });
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.batch))),
            Arc::new(StringArray::from_iter_values(kinds)),
            Arc::new(UInt64Array::from_iter_values(entries.iter().map(|entry| entry.offset))),
            Arc::new(UInt64Array::from_iter_values(entries.iter().map(|entry| entry.length))),
            Arc::new(UInt64Array::from_iter_values(entries.iter().map(|entry| entry.xxh3))),
        ];
        Ok(RecordBatch::try_new(Arc::new(schema()), columns)?)
    }

    pub(super) fn from_batch(path: &Path, batch: &RecordBatch) -> Result<Self> {
        if batch.schema().as_ref() != &schema() {
            return Err(StoreError::damaged(path, 0, "it is not a table of checksums"));
        }
        let batches = batch.column(0).as_primitive::<Int32Type>();
        let kinds = batch.column(1).as_string::<i32>();
        let [offsets, lengths, sums] = [2, 3, 4].map(|index| batch.column(index).as_primitive::<UInt64Type>());
        let entries = (0..batch.num_rows())
            .map(|row| ChecksumEntry {
                batch: batches.value(row),
                is_metadata: kinds.value(row) == METADATA,
                offset: offsets.value(row),
                length: lengths.value(row),
                xxh3: sums.value(row),
            })
            .collect::<Vec<_>>();
        if entries.iter().any(|entry| entry.offset.checked_add(entry.length).is_none()) {
            return Err(StoreError::damaged(path, 0, "a checksum covers an impossible range"));
        }
        Ok(Self::new(entries))
    }
}

/// An error unless these are the bytes of an entry.
pub(super) fn verify_slice(path: &Path, bytes: &[u8], entry: &ChecksumEntry) -> Result<()> {
    let found = xxh3(bytes);
    if found != entry.xxh3 {
        let message = format!("checksum of {} bytes is {found:016x}, expected {:016x}", bytes.len(), entry.xxh3);
        return Err(StoreError::damaged(path, entry.offset, message));
    }
    Ok(())
}

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("batch", DataType::Int32, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("length", DataType::UInt64, false),
        Field::new("xxh3", DataType::UInt64, false),
    ])
}

/// The file ranges of a record batch's buffers, empty ones left out.
fn body_buffers(
    path: &Path,
    bytes: &[u8],
    message: &std::ops::Range<usize>,
    body: &std::ops::Range<usize>,
) -> Result<Vec<std::ops::Range<usize>>> {
    let damaged = |what: &str| StoreError::damaged(path, message.start as u64, what);
    // 8 bytes: the continuation marker and the length of the message.
    let header = arrow_ipc::root_as_message(&bytes[message.start + 8..message.end])
        .map_err(|error| damaged(&format!("a message is not readable: {error}")))?;
    let batch = header.header_as_record_batch().ok_or_else(|| damaged("a block is not a record batch"))?;
    let mut ranges = Vec::new();
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok().and_then(|offset| body.start.checked_add(offset));
        let end = start.zip(usize::try_from(buffer.length()).ok()).and_then(|(start, length)| start.checked_add(length));
        match start.zip(end) {
            Some((start, end)) if end <= body.end => {
                if start < end {
                    ranges.push(start..end);
                }
            }
            _ => return Err(damaged("a buffer lies outside its batch")),
        }
    }
    Ok(ranges)
}
