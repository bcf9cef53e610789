//! The rows of a scan before they are decoded, for operators that work on the bytes of a segment.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;

use super::part::ScanPart;
use super::stream::ScanStream;

/// Rows of one zone that passed the filter of the scan.
#[derive(Debug)]
pub struct StoredRows {
    part: Arc<ScanPart>,
    rows: RecordBatch,
    /// The declared columns of the table that these are.
    projection: Arc<[usize]>,
    /// In declared types.
    schema: SchemaRef,
}

impl StoredRows {
    pub fn row_count(&self) -> usize {
        self.rows.num_rows()
    }

    /// A column of the scan as it is stored.
    pub fn stored(&self, column: usize) -> &ArrayRef {
        self.rows.column(column)
    }

    /// The column in its declared type.
    pub fn decoded(&self, column: usize) -> Result<ArrayRef> {
        self.decode(column, self.stored(column))
    }

    /// The integers that no value of the column in this part of the table is less, or greater, than; `None` if they are unknown.
    pub fn integer_range(&self, column: usize) -> Option<(i64, i64)> {
        self.part.integer_range(self.projection[column])
    }

    /// Some of its values, given as they are stored.
    pub fn decode(&self, column: usize, stored: &ArrayRef) -> Result<ArrayRef> {
        self.part.restore(stored, self.projection[column], self.schema.field(column).data_type())
    }
}

/// A partition of a scan as [`StoredRows`].
pub struct StoredStream {
    scan: ScanStream,
}

impl StoredStream {
    pub(super) fn new(scan: ScanStream) -> StoredStream {
        StoredStream { scan }
    }

    pub fn poll_rows(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<StoredRows>>> {
        let rows = ready!(self.scan.poll_batch(context));
        Poll::Ready(rows.map(|rows| {
            let (rows, part) = (rows?, self.scan.open_part()?);
            Ok(StoredRows { part, rows, projection: Arc::clone(&self.scan.projection), schema: Arc::clone(&self.scan.schema) })
        }))
    }
}
