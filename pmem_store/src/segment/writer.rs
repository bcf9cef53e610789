//! Writes one segment straight into a mapped region.
//!
//! `arrow-ipc` hands over each buffer of a batch as a slice, which the region stores to the mapping
//! (non-temporal stores on persistent memory): the data is copied once, from the arrays it came in.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayData, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

use super::ALIGNMENT;
use super::checksum::BufferChecksums;
use super::footer::Layout;
use super::seal::{SealedSegment, SidePaths, remove_segment_files};
use super::statistics::StatisticsBuilder;
use crate::error::{Result, StoreError};
use crate::files;
use crate::region::{self, PoisonFlag, Region, RegionError, RegionKind};

/// An open, unsealed segment. Dropped unsealed, it removes its file.
pub struct SegmentWriter {
    id: u64,
    path: PathBuf,
    writer: Option<FileWriter<RegionCursor>>,
    capacity_bytes: u64,
    statistics: StatisticsBuilder,
    row_count: u64,
    batch_count: u64,
}

impl SegmentWriter {
    /// Preallocates `capacity_bytes` of disk; the file is cut to what was written when it is sealed.
    pub fn create(
        path: &Path,
        id: u64,
        schema: SchemaRef,
        capacity_bytes: u64,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
    ) -> Result<SegmentWriter> {
        let region = region::create(path, capacity_bytes, kind, Arc::clone(poison)).map_err(StoreError::from)?;
        let cursor = RegionCursor { region, position: 0, failure: None };
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
        let writer = FileWriter::try_new_with_options(cursor, &schema, options)?;
        let statistics = StatisticsBuilder::new(schema);
        let path = path.to_path_buf();
        Ok(SegmentWriter { id, path, writer: Some(writer), capacity_bytes, statistics, row_count: 0, batch_count: 0 })
    }

    pub fn written_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.get_ref().position)
    }

    /// Whether a batch of at most `bytes` still fits, with room for the footer.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.written_bytes() + bytes + footer_bound_bytes(self.batch_count + 1) <= self.capacity_bytes
    }

    /// Appends one batch, which must begin at a zone boundary.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Err(StoreError::Poisoned("a write to this segment failed".into()));
        };
        if let Err(error) = writer.write(batch) {
            let failure = writer.get_mut().failure.take();
            self.writer = None;
            return Err(failure.map_or(StoreError::Arrow(error), StoreError::from));
        }
        self.statistics.add(batch);
        self.row_count += batch.num_rows() as u64;
        self.batch_count += 1;
        Ok(())
    }

    /// Makes the segment and the tables beside it durable, all but their names in the directory.
    pub fn seal(mut self) -> Result<SealedSegment> {
        let Some(mut writer) = self.writer.take() else {
            return Err(StoreError::Poisoned("a write to this segment failed".into()));
        };
        let schema = writer.schema().clone();
        if let Err(error) = writer.finish() {
            return Err(writer.get_mut().failure.take().map_or(StoreError::Arrow(error), StoreError::from));
        }
        let cursor = writer.into_inner()?;
        let size_bytes = cursor.position;
        let checksums = {
            let bytes = &cursor.region.as_slice()[..size_bytes as usize];
            let layout = Layout::parse(&self.path, bytes)?;
            BufferChecksums::compute(&self.path, bytes, &layout)?
        };
        cursor.region.seal(size_bytes).map_err(StoreError::from)?;
        let side = SidePaths::of(&self.path);
        let statistics = std::mem::replace(&mut self.statistics, StatisticsBuilder::new(schema.clone())).finish()?;
        let sealed = SealedSegment {
            id: self.id,
            row_count: self.row_count,
            batch_count: self.batch_count,
            size_bytes,
            checksums_xxh3: files::write_table(&side.checksums, &checksums.to_batch()?)?,
            statistics_xxh3: files::write_table(&side.statistics, &statistics.zones_batch(&schema)?)?,
            columns_xxh3: files::write_table(&side.columns, &statistics.columns_batch(&schema)?)?,
            side_size_bytes: side.all().iter().map(|path| path.metadata().map_or(0, |metadata| metadata.len())).sum(),
        };
        // Sealed: the files are the caller's now.
        self.path = PathBuf::new();
        Ok(sealed)
    }
}

impl Drop for SegmentWriter {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            self.writer = None;
            remove_segment_files(&self.path);
        }
    }
}

/// Room for the end-of-stream mark, footer and schema of a segment with `batches` batches.
fn footer_bound_bytes(batches: u64) -> u64 {
    (1 << 20) + batches * 64
}

/// The region as a stream; keeps the region's own error, which `io::Error` would flatten.
struct RegionCursor {
    region: Box<dyn Region>,
    position: u64,
    failure: Option<RegionError>,
}

impl Write for RegionCursor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.region.write(self.position, bytes) {
            let text = error.to_string();
            self.failure = Some(error);
            return Err(io::Error::other(text));
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An upper bound of what `batch` takes in a segment.
pub(super) fn bound_bytes(batch: &RecordBatch) -> u64 {
    let data: u64 = batch.columns().iter().map(|column| array_bound_bytes(&column.to_data())).sum();
    data + 4096
}

fn array_bound_bytes(data: &ArrayData) -> u64 {
    let validity = data.len() / 8 + 2 * ALIGNMENT;
    let buffers: usize = data.buffers().iter().map(|buffer| buffer.len() + 2 * ALIGNMENT).sum();
    let children: u64 = data.child_data().iter().map(array_bound_bytes).sum();
    // 64: the array's node and buffer entries in the message.
    (validity + buffers + 64 + 32 * data.buffers().len()) as u64 + children
}
