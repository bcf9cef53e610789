//! Reads Parquet, row group by row group.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::RowGroupMetaData;

use super::BATCH_ROWS;
use super::conform::plain_schema;
use super::guard::guarded;
use super::progress::ImportProgress;
use super::source::Source;
use common::error::import::ImportError;

/// The limit of a batch with wide rows.
const BATCH_BYTES: i64 = 64 << 20;

pub struct ParquetBatches {
    source: Source,
    reader: ParquetRecordBatchReader,
    progress: Arc<ImportProgress>,
    rows_total: u64,
    rows_read: u64,
    bytes_reported: u64,
}

pub type Builder = ParquetRecordBatchReaderBuilder<File>;

/// The schema of the file, with the types its batches will have.
pub fn schema(source: &Source) -> Result<SchemaRef, ImportError> {
    Ok(plain_schema(open(source)?.schema()))
}

/// Reads the footer of the file.
pub fn open(source: &Source) -> Result<Builder, ImportError> {
    let mut file = source.open_file()?;
    if !ends_with_magic(&mut file) {
        let reason = "its end is missing; fetch or write it again";
        return Err(source.damaged(reason));
    }
    let again = file.try_clone().map_err(|error| ImportError::from_io(&source.path, error))?;
    let builder = guarded(|| Builder::try_new(file)).map_err(|reason| source.damaged(reason))?;
    // Ask for views, so that texts are not copied out of the decoded pages. If the types of a file do
    // not allow that, it is read as it is, and `conform` makes the views.
    let options = ArrowReaderOptions::new().with_schema(plain_schema(builder.schema()));
    Ok(guarded(|| Builder::try_new_with_options(again, options)).unwrap_or(builder))
}

fn ends_with_magic(file: &mut File) -> bool {
    let mut magic = [0; 4];
    file.seek(SeekFrom::End(-4)).and_then(|_| file.read_exact(&mut magic)).is_ok() && (magic == *b"PAR1" || magic == *b"PARE")
}

impl ParquetBatches {
    /// `columns` and `row_groups` are those to read; `None`: all of them.
    pub fn open(
        source: &Source,
        columns: Option<Vec<usize>>,
        row_groups: Option<Vec<usize>>,
        progress: Arc<ImportProgress>,
    ) -> Result<Self, ImportError> {
        let mut builder = open(source)?;
        let metadata = builder.metadata().clone();
        let read: Vec<&RowGroupMetaData> = match &row_groups {
            Some(groups) => groups.iter().filter_map(|group| metadata.row_groups().get(*group)).collect(),
            None => metadata.row_groups().iter().collect(),
        };
        let rows_total = read.iter().fold(0_u64, |rows, group| rows.saturating_add(group.num_rows().max(0) as u64));
        let bytes: i64 = read.iter().map(|group| group.total_byte_size()).sum();
        if let Some(groups) = row_groups {
            builder = builder.with_row_groups(groups);
        }
        if let Some(columns) = columns {
            let mask = guarded(|| Ok::<_, String>(ProjectionMask::roots(builder.parquet_schema(), columns)));
            let mask = mask.map_err(|reason| source.damaged(reason))?;
            builder = builder.with_projection(mask);
        }
        let row_bytes = (bytes / rows_total.max(1) as i64).max(1);
        let rows = usize::try_from(BATCH_BYTES / row_bytes).unwrap_or(1).clamp(64, BATCH_ROWS);
        let reader = guarded(|| builder.with_batch_size(rows).build()).map_err(|reason| source.damaged(reason))?;
        let source = source.clone();
        Ok(ParquetBatches { source, reader, progress, rows_total, rows_read: 0, bytes_reported: 0 })
    }

    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ImportError> {
        let reader = &mut self.reader;
        let read = guarded(|| reader.next().transpose());
        let batch = read.map_err(|reason| self.source.damaged(reason))?;
        if let Some(batch) = &batch {
            self.rows_read += batch.num_rows() as u64;
        }
        self.report(batch.is_none());
        Ok(batch)
    }

    /// It counts rows, because the columns of a row group follow each other, so a position in the file would jump.
    fn report(&mut self, is_end: bool) {
        let share = self.rows_read as f64 / self.rows_total.max(1) as f64;
        let size = self.source.size_bytes;
        let position = if is_end { size } else { (size as f64 * share.min(1.0)) as u64 };
        self.progress.add_bytes(position.saturating_sub(self.bytes_reported));
        self.bytes_reported = self.bytes_reported.max(position);
    }
}
