//! Writes one segment straight into a mapped region.
//!
//! `arrow-ipc` hands over each buffer of a batch as a slice, which the region stores to the mapping
//! (non-temporal stores on persistent memory): the data is copied once, from the arrays it came in.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayData, MAX_INLINE_VIEW_LEN, OffsetSizeTrait, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_ipc::MetadataVersion;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryHandling, DictionaryTracker, FileWriter, IpcWriteOptions};

use super::ALIGNMENT;
use super::attribute_index::AttributeIndexThread;
use super::checksum::BufferChecksums;
use super::compact::held_bytes_max;
use super::footer::Layout;
use super::seal::{SealedSegment, SidePaths, remove_segment_files};
use super::side_table::write_table;
use super::statistics::StatisticsBuilder;
use crate::error::{Result, StoreError};
use crate::region::{self, PoisonFlag, Region, RegionError, RegionKind};

/// An open, unsealed segment. If it is dropped unsealed, it removes its file.
pub struct SegmentWriter {
    id: u64,
    path: PathBuf,
    writer: Option<FileWriter<RegionCursor>>,
    capacity_bytes: u64,
    schema_bytes: u64,
    dictionary_count: u64,
    is_encoded: bool,
    statistics: StatisticsBuilder,
    index: Option<AttributeIndexThread>,
    poison: Arc<PoisonFlag>,
    row_count: u64,
    batch_count: u64,
}

impl SegmentWriter {
    /// Preallocates `capacity_bytes` of disk; the file is cut to what was written when it is sealed. `stored` has the types in which the file
    /// has the columns of `physical`.
    pub fn create(
        path: &Path,
        id: u64,
        physical: SchemaRef,
        stored: &SchemaRef,
        capacity_bytes: u64,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
    ) -> Result<SegmentWriter> {
        let region = region::create(path, capacity_bytes, kind, Arc::clone(poison)).map_err(StoreError::from)?;
        // On an error below, dropping the writer drops the region, which removes its file.
        let cursor = RegionCursor { region, position: 0, hole: None };
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
        // Texts that come later are added to the dictionaries.
        let options = options.with_dictionary_handling(DictionaryHandling::Delta);
        let writer = FileWriter::try_new_with_options(cursor, stored, options).map_err(write_error)?;
        Ok(SegmentWriter {
            id,
            path: path.to_path_buf(),
            writer: Some(writer),
            capacity_bytes,
            schema_bytes: schema_bytes(stored),
            dictionary_count: dictionary_count(stored),
            is_encoded: *stored != physical,
            index: AttributeIndexThread::of(&physical, path)?,
            statistics: StatisticsBuilder::new(physical),
            poison: Arc::clone(poison),
            row_count: 0,
            batch_count: 0,
        })
    }

    pub fn written_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.get_ref().position)
    }

    /// Whether a batch of at most `bytes` still fits, with room for the footer.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        // A batch may add to each dictionary.
        let blocks = (self.batch_count + 1) * (1 + self.dictionary_count);
        self.written_bytes() + bytes + footer_bound_bytes(self.schema_bytes, blocks) <= self.capacity_bytes
    }

    /// Appends one batch without reading the bytes of `hole`, a buffer of one of its columns: `make` writes other bytes
    /// in their place. The column has no statistics of its values.
    pub(super) fn write_around(&mut self, batch: &RecordBatch, hole: &Buffer, make: &mut dyn FnMut(&mut [u8])) -> Result<()> {
        let position = self.write_with_hole(batch, hole)?;
        let Some(writer) = &mut self.writer else { return Err(no_writer()) };
        let made = writer.get_mut().region.write_with(position, hole.len() as u64, make);
        made.map_err(|error| {
            self.writer = None;
            StoreError::from(error)
        })
    }

    /// The same, with the bytes of `pieces` one after the other in the place of the hole.
    pub(super) fn write_pieces_around(&mut self, batch: &RecordBatch, hole: &Buffer, pieces: &[Buffer]) -> Result<()> {
        let mut position = self.write_with_hole(batch, hole)?;
        let Some(writer) = &mut self.writer else { return Err(no_writer()) };
        for piece in pieces {
            if let Err(error) = writer.get_mut().region.write(position, piece) {
                self.writer = None;
                return Err(error.into());
            }
            position += piece.len() as u64;
        }
        Ok(())
    }

    /// Returns where the hole is in the file.
    fn write_with_hole(&mut self, batch: &RecordBatch, hole: &Buffer) -> Result<u64> {
        let set = |writer: &mut Option<FileWriter<RegionCursor>>, hole| {
            writer.as_mut().and_then(|writer| std::mem::replace(&mut writer.get_mut().hole, hole))
        };
        set(&mut self.writer, Some(PendingBuffer { address: hole.as_ptr().addr(), len: hole.len(), position: None }));
        self.write(batch, batch)?;
        let position = set(&mut self.writer, None).and_then(|hole| hole.position);
        position.ok_or_else(|| ArrowError::InvalidArgumentError("the batch has no such buffer".into()).into())
    }

    /// Appends one batch, which must begin at a zone boundary; `stored` is the same batch in the types of the file.
    pub fn write(&mut self, batch: &RecordBatch, stored: &RecordBatch) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Err(no_writer());
        };
        // First, so that its thread works while the rows are written.
        if let Some(index) = &self.index {
            index.add(batch);
        }
        if let Err(error) = writer.write(stored) {
            self.writer = None;
            return Err(write_error(error));
        }
        self.statistics.add(batch);
        self.row_count += batch.num_rows() as u64;
        self.batch_count += 1;
        Ok(())
    }

    /// Makes the segment and its side tables durable, all but their names in the directory.
    pub fn seal(mut self) -> Result<SealedSegment> {
        let Some(writer) = self.writer.take() else {
            return Err(no_writer());
        };
        // This writes the footer first.
        let cursor = writer.into_inner().map_err(write_error)?;
        let size_bytes = cursor.position;
        let checksums = {
            let bytes = &cursor.region.as_slice()[..size_bytes as usize];
            let layout = Layout::parse(&self.path, bytes)?;
            BufferChecksums::compute(&self.path, bytes, &layout)?
        };
        cursor.region.seal(size_bytes).map_err(StoreError::from)?;
        let side = SidePaths::of(&self.path);
        let [zones, columns] = std::mem::replace(&mut self.statistics, StatisticsBuilder::new(Schema::empty().into())).finish()?;
        let index = self.index.take().map(AttributeIndexThread::finish).transpose()?.flatten();
        let index_xxh3 = index.map(|index| write_table(&side.index, &index, &self.poison)).transpose()?;
        let sealed = SealedSegment {
            id: self.id,
            row_count: self.row_count,
            batch_count: self.batch_count,
            size_bytes,
            checksums_xxh3: write_table(&side.checksums, &checksums.to_batch()?, &self.poison)?,
            statistics_xxh3: write_table(&side.statistics, &zones, &self.poison)?,
            columns_xxh3: write_table(&side.columns, &columns, &self.poison)?,
            index_xxh3,
            is_encoded: self.is_encoded,
            side_size_bytes: side.expected().iter().map(|path| path.metadata().map_or(0, |metadata| metadata.len())).sum(),
        };
        // The segment is sealed: the files belong to the caller now.
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

fn no_writer() -> StoreError {
    StoreError::Poisoned("a write to this segment failed".into())
}

/// Room for the end-of-stream mark and the footer of a segment with `blocks` batches and dictionaries.
fn footer_bound_bytes(schema_bytes: u64, blocks: u64) -> u64 {
    schema_bytes + 4096 + blocks * 64
}

/// The size of a schema as a message.
fn schema_bytes(schema: &Schema) -> u64 {
    let mut dictionaries = DictionaryTracker::new(false);
    let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut dictionaries);
    encoder.schema_to_fb(schema).finished_data().len() as u64
}

fn dictionary_count(schema: &Schema) -> u64 {
    schema.fields().iter().filter(|field| matches!(field.data_type(), DataType::Dictionary(..))).count() as u64
}

/// The capacity of a segment for one batch of at most `bytes`.
pub(super) fn capacity_for_one(schema: &Schema, bytes: u64) -> u64 {
    let schema_bytes = schema_bytes(schema);
    schema_bytes + 4096 + bytes + footer_bound_bytes(schema_bytes, 1 + dictionary_count(schema))
}

/// The region as a stream. Its errors pass through Arrow inside `io::Error`; [`write_error`] extracts
/// them.
struct RegionCursor {
    region: Box<dyn Region>,
    position: u64,
    hole: Option<PendingBuffer>,
}

/// A buffer that is not copied, and its offset in the region once that is known.
struct PendingBuffer {
    address: usize,
    len: usize,
    position: Option<u64>,
}

impl Write for RegionCursor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.hole {
            Some(hole) if hole.address == bytes.as_ptr().addr() && hole.len == bytes.len() => hole.position = Some(self.position),
            _ => self.region.write(self.position, bytes).map_err(io::Error::other)?,
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_error(error: ArrowError) -> StoreError {
    match error {
        ArrowError::IoError(text, source) => match source.downcast::<RegionError>() {
            Ok(error) => StoreError::from(error),
            Err(source) => StoreError::Arrow(ArrowError::IoError(text, source)),
        },
        other => StoreError::Arrow(other),
    }
}

/// An upper bound of the size of `batch` in a segment: slices count with the values they show.
pub(super) fn bound_bytes(batch: &RecordBatch) -> u64 {
    let data: u64 = batch.columns().iter().map(|column| array_bound_bytes(&column.to_data())).sum();
    data + 4096
}

fn array_bound_bytes(data: &ArrayData) -> u64 {
    use DataType::*;
    let rows = data.len();
    let values = match data.data_type() {
        Utf8View | BinaryView => view_bound_bytes(data),
        List(_) | Map(..) => (rows + 1) * size_of::<i32>(),
        LargeList(_) => (rows + 1) * size_of::<i64>(),
        Dictionary(codes, _) => rows * codes.primitive_width().unwrap_or(size_of::<u64>()),
        // If the shown part is unknown, whole buffers count.
        _ if data.child_data().is_empty() => data.get_slice_memory_size().unwrap_or_else(|_| data.buffers().iter().map(Buffer::len).sum()),
        _ => 0,
    };
    let buffers = data.buffers().len() + 1;
    // 64 + 32 per buffer: the array's entries in the message.
    let own = values + rows / 8 + 64 + buffers * (32 + 2 * ALIGNMENT);
    let children = data.child_data().iter().map(|child| match data.data_type() {
        List(_) | Map(..) => array_bound_bytes(&covered_child::<i32>(data, child)),
        LargeList(_) => array_bound_bytes(&covered_child::<i64>(data, child)),
        _ => array_bound_bytes(child),
    });
    own as u64 + children.sum::<u64>()
}

/// The child rows that the offsets of a list cover.
fn covered_child<O: OffsetSizeTrait>(data: &ArrayData, child: &ArrayData) -> ArrayData {
    let offsets = &data.buffers()[0].typed_data::<O>()[data.offset()..];
    match (offsets.first(), offsets.get(data.len())) {
        (Some(first), Some(last)) => child.slice(first.as_usize(), last.as_usize() - first.as_usize()),
        // An array of no rows need not have offsets.
        _ => child.slice(0, 0),
    }
}

/// `compact` writes the data buffers that a view array has, unless they are much more than it shows.
fn view_bound_bytes(data: &ArrayData) -> usize {
    let views = &data.buffers()[0].typed_data::<u128>()[data.offset()..data.offset() + data.len()];
    let lengths = views.iter().map(|view| *view as u32 as usize);
    let used: usize = lengths.filter(|length| *length > MAX_INLINE_VIEW_LEN as usize).sum();
    let buffer_bytes: usize = data.buffers()[1..].iter().map(Buffer::len).sum();
    // Text that many views share is written once for each of them.
    std::mem::size_of_val(views) + used.max(buffer_bytes.min(held_bytes_max(used)))
}
