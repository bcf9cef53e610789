//! Arrow IPC, file and stream format. The bytes come from outside, so `arrow-ipc` validates them fully.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow_ipc::reader::{FileReader, StreamReader};

use super::conform::plain_schema;
use super::guard::guarded;
use super::ipc_bounds::{check_file, check_stream};
use super::progress::{CountingReader, ImportProgress};
use super::source::Source;
use common::error::import::ImportError;
use semantics::functions::values_bytes;

/// Batches with more rows than this are handed out in slices,
const BATCH_ROWS_MAX: usize = 65_536;
/// and so are batches that have more bytes than this once dictionaries and runs are replaced by their values.
const BATCH_BYTES_MAX: usize = 64 << 20;

pub struct ArrowBatches {
    source: Source,
    reader: Reader,
    /// The rest of a long batch.
    rest: Option<RecordBatch>,
    progress: Arc<ImportProgress>,
    blocks_read: u64,
}

enum Reader {
    // It reads whole blocks: a buffer would be discarded at each seek.
    File(FileReader<File>),
    Stream(StreamReader<BufReader<CountingReader<File>>>),
}

/// The schema of the file, with the types its batches will have.
pub fn schema(source: &Source) -> Result<SchemaRef, ImportError> {
    Ok(plain_schema(&open(source, None, None)?.schema()))
}

fn open(source: &Source, columns: Option<Vec<usize>>, progress: Option<Arc<ImportProgress>>) -> Result<Reader, ImportError> {
    let mut file = source.open_file()?;
    let opened = guarded(|| {
        let foreign = match source.is_stream {
            true => check_stream(&mut file)?,
            false => check_file(&mut file)?,
        };
        if let Some(foreign) = foreign {
            return Ok(Err(foreign));
        }
        match source.is_stream {
            true => {
                let bytes = CountingReader { inner: file, progress };
                StreamReader::try_new_buffered(bytes, columns).map(Reader::Stream)
            }
            false => FileReader::try_new(file, columns).map(Reader::File),
        }
        .map_or_else(|error| Err(error.to_string()), |reader| Ok(Ok(reader)))
    });
    match opened {
        Ok(Ok(reader)) => Ok(reader),
        Ok(Err(reason)) => Err(ImportError::Form { file: source.label(), reason }),
        Err(reason) => Err(source.damaged(reason)),
    }
}

impl Reader {
    fn schema(&self) -> Arc<Schema> {
        match self {
            Reader::File(reader) => reader.schema(),
            Reader::Stream(reader) => reader.schema(),
        }
    }
}

impl ArrowBatches {
    /// `columns` are those to read; `None`: all of them.
    pub fn open(source: &Source, columns: Option<Vec<usize>>, progress: Arc<ImportProgress>) -> Result<Self, ImportError> {
        let reader = open(source, columns, Some(progress.clone()))?;
        let source = source.clone();
        Ok(ArrowBatches { source, reader, rest: None, progress, blocks_read: 0 })
    }

    /// The reader seeks in the file from block to block, so each block counts with its share.
    fn report_block(&mut self) {
        if let Reader::File(reader) = &self.reader {
            let (size, blocks) = (self.source.size_bytes, reader.num_batches().max(1) as u64);
            let position = |read: u64| (u128::from(size) * u128::from(read) / u128::from(blocks)) as u64;
            self.progress.add_bytes(position(self.blocks_read + 1) - position(self.blocks_read));
            self.blocks_read += 1;
        }
    }

    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ImportError> {
        let batch = match self.rest.take() {
            Some(batch) => batch,
            None => {
                let reader = &mut self.reader;
                let read = guarded(|| match reader {
                    Reader::File(reader) => reader.next().transpose(),
                    Reader::Stream(reader) => reader.next().transpose(),
                });
                match read.map_err(|reason| self.source.damaged(reason))? {
                    Some(batch) => {
                        self.report_block();
                        batch
                    }
                    None => return Ok(None),
                }
            }
        };
        let rows = rows_at_once(&batch);
        if batch.num_rows() <= rows {
            return Ok(Some(batch));
        }
        self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        Ok(Some(batch.slice(0, rows)))
    }
}

fn rows_at_once(batch: &RecordBatch) -> usize {
    let mut rows = batch.num_rows().min(BATCH_ROWS_MAX);
    let bytes = |rows: usize| batch.columns().iter().map(|column| values_bytes(column, 0, rows)).fold(0, usize::saturating_add);
    while rows > 1 && bytes(rows) > BATCH_BYTES_MAX {
        rows /= 2;
    }
    rows
}
