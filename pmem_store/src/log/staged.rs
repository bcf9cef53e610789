//! Rows of many commits that are a record together as soon as somebody needs them to be one.
//!
//! A record for each row costs an Arrow message for each row. Here values are copied into columns, which
//! takes a fraction of that, and hold nothing of the batches they came in.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};

use super::columns::{Column, long_bytes};
use super::commits::{Commit, commits_bytes};
use super::format::RECORD_HEADER_BYTES;
use crate::ZONE_ROWS;
use crate::error::Result;

/// Batches of more rows are records of their own.
pub(super) const BATCH_ROWS_MAX: usize = 64;
/// Rows of more bytes are encoded before others join them; a batch that has as many is a record of its own.
pub(super) const GROUP_BYTES_MAX: usize = 256 << 10;

/// What an Arrow message of a record batch takes at most, beside what each column adds.
const MESSAGE_BYTES_MAX: usize = 512;
/// A node, up to three buffers and a count of buffers, with room for their alignment.
const MESSAGE_BYTES_PER_COLUMN: usize = 96;
/// What three buffers lose by their alignment, and bits by being whole bytes.
const ALIGNED_BYTES_MAX: usize = 256;

/// Invariant: [`Staged::record_bytes_max`] is at least what the rows take as a record, so that room that
/// was found for them is enough when they are encoded.
#[derive(Debug)]
pub(super) struct Staged {
    schema: SchemaRef,
    columns: Vec<Column>,
    commits: Vec<Commit>,
    rows: usize,
    /// Of values that are not in a column's fixed part.
    data_bytes: usize,
    /// Of the fixed parts of all columns, and of what says that a value is NULL.
    row_bits: usize,
}

impl Staged {
    /// None where a column is of a type whose rows are always records of their own.
    pub fn new(schema: &SchemaRef) -> Option<Staged> {
        let columns = schema.fields().iter().map(|field| Column::new(field)).collect::<Option<Vec<_>>>()?;
        if columns.is_empty() {
            return None;
        }
        let row_bits = columns.iter().map(Column::row_bits).sum();
        Some(Staged { schema: Arc::clone(schema), columns, commits: Vec::new(), rows: 0, data_bytes: 0, row_bits })
    }

    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    pub fn first_version(&self) -> Option<u64> {
        self.commits.first().map(|commit| commit.version)
    }

    pub fn last_version(&self) -> Option<u64> {
        self.commits.last().map(|commit| commit.version)
    }

    /// Bytes of the rows' long values; None for rows that have to be a record of their own.
    pub fn data_bytes_of(&self, batch: &RecordBatch) -> Option<usize> {
        let fits = (1..=BATCH_ROWS_MAX).contains(&batch.num_rows()) && batch.num_columns() == self.columns.len();
        let mut bytes = 0;
        for (column, array) in self.columns.iter().zip(batch.columns()).filter(|_| fits) {
            if !column.takes(array) {
                return None;
            }
            bytes += match array.data_type() {
                DataType::Utf8View => long_bytes(array.as_string_view()),
                DataType::BinaryView => long_bytes(array.as_binary_view()),
                _ => 0,
            };
        }
        (fits && batch.num_rows() * self.row_bits / 8 + bytes < GROUP_BYTES_MAX).then_some(bytes)
    }

    /// Whether rows with so many bytes are too many beside those that are here.
    pub fn is_full(&self, rows: usize, data_bytes: usize) -> bool {
        let rows = self.rows + rows;
        rows > ZONE_ROWS || rows * self.row_bits / 8 + self.data_bytes + data_bytes > GROUP_BYTES_MAX
    }

    /// The most that a record of the rows that are here and of more rows and bytes takes.
    pub fn record_bytes_max(&self, rows: usize, data_bytes: usize) -> u64 {
        let columns = self.columns.len();
        let body = (self.rows + rows) * self.row_bits / 8 + self.data_bytes + data_bytes + columns * ALIGNED_BYTES_MAX;
        let message = MESSAGE_BYTES_MAX + columns * MESSAGE_BYTES_PER_COLUMN;
        (RECORD_HEADER_BYTES + message + body + commits_bytes(self.commits.len() + 1)) as u64
    }

    /// Adds rows that [`Staged::data_bytes_of`] was asked about.
    pub fn push(&mut self, batch: &RecordBatch, data_bytes: usize, version: u64, committed_at_ms: u64) {
        for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
            column.push(array);
        }
        self.rows += batch.num_rows();
        self.data_bytes += data_bytes;
        self.commits.push(Commit { version, committed_at_ms, rows: batch.num_rows() as u64 });
    }

    /// All rows, in the order in which they came, with their commits; none are left.
    pub fn take(&mut self) -> Result<(RecordBatch, Vec<Commit>)> {
        let commits = std::mem::take(&mut self.commits);
        let rows = std::mem::take(&mut self.rows);
        self.data_bytes = 0;
        let columns = self.columns.iter_mut().map(|column| column.take(rows)).collect::<Result<Vec<_>>>()?;
        Ok((RecordBatch::try_new(Arc::clone(&self.schema), columns)?, commits))
    }
}
