//! Rows of a table that are in no segment yet: they are in a log, or belong to an uncommitted transaction.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::ZONE_ROWS;
use crate::catalog::LogRecord;
use crate::deletions::Deletions;
use crate::error::Result;
use crate::log::{LogView, TailLog};
use crate::mapping::Mapping;

/// A log as one version of its table sees it.
#[derive(Debug, Clone)]
pub(crate) struct TableLog {
    pub record: LogRecord,
    pub log: Arc<TailLog>,
    pub deletions: Option<Arc<Deletions>>,
    pub columns: Option<Arc<[Option<usize>]>>,
}

/// Rows that a transaction has added, which go to a log when it commits.
#[derive(Debug, Clone)]
pub(crate) struct PendingRows {
    /// Like the id of a segment: deletions refer to it.
    pub id: u64,
    pub rows: RecordBatch,
    pub deletions: Option<Arc<Deletions>>,
}

/// What a reader sees of a log or of pending rows.
#[derive(Debug, Clone)]
pub struct Tail {
    id: u64,
    rows: TailRows,
    deletions: Option<Arc<Deletions>>,
    columns: Option<Arc<[Option<usize>]>>,
}

#[derive(Debug, Clone)]
enum TailRows {
    Log(LogView),
    Memory(RecordBatch),
}

impl Tail {
    pub(crate) fn of_log(log: &TableLog, version: u64) -> Result<Tail> {
        let rows = TailRows::Log(log.log.view(version)?);
        Ok(Tail { id: log.record.id, rows, deletions: log.deletions.clone(), columns: log.columns.clone() })
    }

    pub(crate) fn of_pending(pending: &PendingRows) -> Tail {
        let rows = TailRows::Memory(pending.rows.clone());
        Tail { id: pending.id, rows, deletions: pending.deletions.clone(), columns: None }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// The physical schema of its rows.
    pub fn schema(&self) -> SchemaRef {
        match &self.rows {
            TailRows::Log(view) => Arc::clone(view.schema()),
            TailRows::Memory(batch) => batch.schema(),
        }
    }

    /// As [`TableSegment::columns`](crate::TableSegment::columns).
    pub fn columns(&self) -> Option<&Arc<[Option<usize>]>> {
        self.columns.as_ref()
    }

    pub fn deletions(&self) -> Option<&Arc<Deletions>> {
        self.deletions.as_ref()
    }

    /// It includes deleted rows.
    pub fn stored_rows(&self) -> u64 {
        match &self.rows {
            TailRows::Log(view) => view.row_count(),
            TailRows::Memory(batch) => batch.num_rows() as u64,
        }
    }

    /// The number of rows that are not deleted.
    pub fn row_count(&self) -> u64 {
        // A deletion vector may have rows that were added after the view.
        let stored = self.stored_rows();
        stored - self.deletions.as_ref().map_or(0, |deletions| deletions.count_in(0, stored as usize))
    }

    pub fn size_bytes(&self) -> u64 {
        match &self.rows {
            TailRows::Log(view) => view.size_bytes(),
            TailRows::Memory(batch) => batch.get_array_memory_size() as u64,
        }
    }

    /// Chunks of [`ZONE_ROWS`] rows, the last one of as many as are left.
    pub fn chunk_count(&self) -> usize {
        (self.stored_rows() as usize).div_ceil(ZONE_ROWS)
    }

    pub fn chunk(&self, index: usize) -> Result<RecordBatch> {
        match &self.rows {
            TailRows::Log(view) => view.chunk(index),
            TailRows::Memory(batch) => {
                let start = index * ZONE_ROWS;
                Ok(batch.slice(start, ZONE_ROWS.min(batch.num_rows() - start)))
            }
        }
    }

    /// Checks that every value is valid for its type.
    pub(crate) fn validate(&self) -> Result<()> {
        match &self.rows {
            TailRows::Log(view) => view.validate(),
            TailRows::Memory(_) => Ok(()),
        }
    }

    /// The mapping that the buffers lie in; `None` for rows that are in no file yet.
    pub fn mapping(&self) -> Option<&Arc<Mapping>> {
        match &self.rows {
            TailRows::Log(view) => Some(view.mapping()),
            TailRows::Memory(_) => None,
        }
    }

    /// An error if its file was cut short while it was being read.
    pub fn check_intact(&self) -> Result<()> {
        match &self.rows {
            TailRows::Log(view) => view.check_intact(),
            TailRows::Memory(_) => Ok(()),
        }
    }
}
