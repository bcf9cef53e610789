//! A sealed segment, mapped: record batches whose buffers lie in the mapping.

mod fetch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, GenericByteArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{BinaryType, ByteArrayType, DataType, SchemaRef, Utf8Type};
use arrow_ipc::reader::FileDecoder;
use parking_lot::Mutex;

use super::attribute_index::AttributeIndex;
use super::cache_budget::{MAPPINGS, ReadMark, Releasable};
use super::checksum::BufferChecksums;
use super::decoded::DecodedBatches;
use super::encoding::{decode, physical_schema};
use super::exact::exact;
use super::footer::{Layout, block_ranges};
use super::memory_budget::{Copied, MEMORY, MemoryUsage};
use super::seal::{SealedSegment, SidePaths};
use super::side_table::read_table;
use super::staging::StagedFile;
use super::statistics::ZoneStatistics;
use crate::ZONE_ROWS;
use crate::error::{Result, StoreError};
use crate::files::RowLocation;
use crate::mapping::{Mapping, MappingError};

/// A sealed segment. Invariant: the file never changes once a `Segment` exists, so every array
/// handed out stays valid for as long as it (and with it the mapping) is held.
#[derive(Debug)]
pub struct Segment {
    data: Arc<SegmentData>,
    size_bytes: u64,
    layout: Layout,
    physical: SchemaRef,
    /// With the dictionaries, once a batch was needed.
    decoder: OnceLock<FileDecoder>,
    /// First row of each batch, and after the last one the number of rows.
    batch_starts: Vec<usize>,
    checksums: BufferChecksums,
    statistics: Arc<ZoneStatistics>,
    /// Its checksum, and the index once it was needed.
    index: (Option<u64>, OnceLock<Arc<AttributeIndex>>),
    path: PathBuf,
}

/// The bytes of a segment. Invariant: while an array of them is in use, their mapping is the one that the array lies in.
#[derive(Debug)]
struct SegmentData {
    /// `None` after it was released, until the segment is read again.
    mapped: Mutex<Option<Mapped>>,
    read: ReadMark,
    memory: MemoryUsage,
}

impl Drop for SegmentData {
    fn drop(&mut self) {
        self.memory.clear(&MEMORY);
    }
}

impl Copied for SegmentData {
    fn usage(&self) -> &MemoryUsage {
        &self.memory
    }
}

#[derive(Debug, Clone)]
struct Mapped {
    mapping: Arc<Mapping>,
    bytes: Buffer,
    decoded: Arc<DecodedBatches>,
    /// The copy in memory that is mapped, and not the file of the segment.
    staged: Option<Arc<StagedFile>>,
}

impl Mapped {
    fn open(path: &Path, size_bytes: u64, checksums: &BufferChecksums) -> Result<Mapped> {
        match Mapping::open(path, Some(size_bytes)) {
            Err(MappingError::Open { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Mapped::open_again(path, size_bytes, checksums)
            }
            mapping => Ok(Mapped::of(mapping?, None)),
        }
    }

    /// The rows lie in an object store; or between two looks at the name, they have moved to another tier.
    fn open_again(path: &Path, size_bytes: u64, checksums: &BufferChecksums) -> Result<Mapped> {
        match RowLocation::of(path) {
            RowLocation::Disk(file) if !file.exists() => Err(StoreError::TierGone { segment: path.to_path_buf(), file }),
            RowLocation::Object(url) => match StagedFile::of_object(path, size_bytes, url, checksums.entries()) {
                Ok(staged) => Ok(Mapped::of(staged.map(size_bytes)?, Some(Arc::new(staged)))),
                // The rows have come back meanwhile.
                Err(_) if RowLocation::of(path) == RowLocation::Store => Ok(Mapped::of(Mapping::open(path, Some(size_bytes))?, None)),
                Err(error) => Err(error),
            },
            _ => Ok(Mapped::of(Mapping::open(path, Some(size_bytes))?, None)),
        }
    }

    /// The copy in memory, if its bytes are fetched as they are needed.
    fn partial(&self) -> Option<&Arc<StagedFile>> {
        self.staged.as_ref().filter(|staged| staged.source.is_some())
    }

    fn of(mapping: Arc<Mapping>, staged: Option<Arc<StagedFile>>) -> Mapped {
        Mapped { bytes: mapping.whole(), mapping, decoded: Arc::default(), staged }
    }
}

/// Bytes between two looks at whether a copy shall go on.
const STEP_BYTES: u64 = 16 << 20;
/// A copy takes the place of another mapping when nobody reads that: how often it looks, and between which pauses.
const IDLE_LOOKS: u32 = 20;
const IDLE_PAUSE: Duration = Duration::from_millis(50);

impl SegmentData {
    /// Puts another mapping in the place of the current one, unless that is in use; then it is given back.
    fn exchange(&self, new: Mapped) -> Option<Mapped> {
        let mut slot = self.mapped.lock();
        let Some(Mapped { mapping, bytes, decoded, staged }) = slot.take() else {
            *slot = Some(new);
            return None;
        };
        drop(bytes);
        decoded.clear();
        if Arc::strong_count(&mapping) == 1 {
            self.memory.clear(&MEMORY);
            *slot = Some(new);
            return None;
        }
        *slot = Some(Mapped { bytes: mapping.whole(), mapping, decoded, staged });
        Some(new)
    }
}

impl Releasable for SegmentData {
    fn was_read(&self) -> bool {
        self.read.take()
    }

    fn release(&self) -> bool {
        // The holder of the lock is reading.
        let Some(mut mapped) = self.mapped.try_lock() else { return false };
        let Some(Mapped { mapping, bytes, decoded, staged }) = mapped.take() else { return true };
        drop(bytes);
        decoded.clear();
        // A mapping that is marked as damaged stays, for readers that check the mark.
        let idle = Arc::strong_count(&mapping) == 1 && !mapping.damaged();
        match idle {
            true => self.memory.clear(&MEMORY),
            false => *mapped = Some(Mapped { bytes: mapping.whole(), mapping, decoded, staged }),
        }
        idle
    }
}

/// Where a record batch lies in the file, in bytes: its message, and behind it the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPlace {
    pub offset: u64,
    pub metadata_bytes: u64,
    pub body_bytes: u64,
}

impl Segment {
    /// Maps the segment, verifies its metadata with the dictionaries, and reads its statistics; reads none of its buffers.
    pub fn open(path: &Path, sealed: &SealedSegment) -> Result<Segment> {
        let side = SidePaths::of(path);
        let sums = read_table(&side.checksums, sealed.checksums_xxh3)?;
        let checksums = BufferChecksums::from_batch(&side.checksums, &sums)?;
        let mapped = Mapped::open(path, sealed.size_bytes, &checksums)?;
        let bytes = mapped.bytes.clone();
        checksums.verify_metadata(path, &bytes)?;
        let layout = Layout::parse(path, &bytes)?;
        let physical = match sealed.is_encoded {
            true => Arc::new(physical_schema(&layout.schema).ok_or_else(|| {
                StoreError::damaged(path, layout.footer.start as u64, "a column is stored in a way that this version does not know")
            })?),
            false => Arc::clone(&layout.schema),
        };
        let statistics = Arc::new(ZoneStatistics::read(&side, sealed, &physical)?);
        let batch_starts = batch_starts(path, &bytes, &layout)?;
        let rows = *batch_starts.last().unwrap_or(&0);
        if statistics.zone_count() != rows.div_ceil(ZONE_ROWS) {
            return Err(StoreError::damaged(&side.statistics, 0, "it describes another number of zones"));
        }
        drop(bytes);
        let data = Arc::new(SegmentData { mapped: Mutex::new(Some(mapped)), read: ReadMark::default(), memory: MemoryUsage::default() });
        let index = (sealed.index_xxh3, OnceLock::new());
        let segment = Segment {
            data,
            size_bytes: sealed.size_bytes,
            layout,
            physical,
            decoder: OnceLock::new(),
            batch_starts,
            checksums,
            statistics,
            index,
            path: path.to_path_buf(),
        };
        segment.fill_local_columns(&segment.mapped()?)?;
        segment.count_mapping();
        Ok(segment)
    }

    fn count_mapping(&self) {
        let data: Arc<dyn Releasable> = Arc::clone(&self.data) as _;
        MAPPINGS.add(Arc::downgrade(&data), 1);
    }

    /// The bytes; a released mapping is mapped again.
    fn mapped(&self) -> Result<Mapped> {
        self.data.read.set();
        self.data.memory.read(&MEMORY);
        let mut slot = self.data.mapped.lock();
        if let Some(mapped) = &*slot {
            return Ok(mapped.clone());
        }
        let mapped = Mapped::open(&self.path, self.size_bytes, &self.checksums)?;
        // No reader uses the new mapping yet, and the current bytes of the file have not been verified.
        self.checksums.forget();
        self.fill_local_columns(&mapped)?;
        *slot = Some(mapped.clone());
        drop(slot);
        self.count_mapping();
        Ok(mapped)
    }

    /// Whether all its bytes are in memory, as a copy of what lies elsewhere.
    pub fn is_in_memory(&self) -> bool {
        let slot = self.data.mapped.lock();
        let Some(staged) = slot.as_ref().and_then(|mapped| mapped.staged.as_ref()) else { return false };
        staged.source.is_none() || self.all_missing().is_empty()
    }

    /// Whether it is read from a copy in memory, perhaps of some of its bytes.
    pub fn is_staged(&self) -> bool {
        self.data.mapped.lock().as_ref().is_some_and(|mapped| mapped.staged.is_some())
    }

    /// Has all its bytes in memory from now on, until the memory is needed. The copy takes the place of the mapping of the file when nobody reads
    /// that. `go_on` is called with the bytes of each step, and ends it by an error.
    pub fn copy_to_memory(&self, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        // While it is held it is not released, so what is verified is what is copied.
        let source = self.mapped()?;
        let mut problems = Vec::new();
        self.verify_mapped(&source, go_on, &mut problems)?;
        if let Some(problem) = problems.pop() {
            return Err(StoreError::Refused(problem));
        }
        if source.staged.is_some() {
            return Ok(());
        }
        let staged = StagedFile::new(&self.path, self.size_bytes)?;
        for (step, bytes) in source.bytes.chunks(STEP_BYTES as usize).enumerate() {
            staged.write(bytes, step as u64 * STEP_BYTES)?;
            go_on(bytes.len() as u64)?;
        }
        self.check_intact()?;
        drop(source);
        let mut copy = Some(Mapped::of(staged.map(self.size_bytes)?, Some(Arc::new(staged))));
        for _ in 0..IDLE_LOOKS {
            copy = copy.and_then(|copy| self.data.exchange(copy));
            if copy.is_none() {
                MEMORY.grow(&self.data, self.size_bytes);
                return Ok(());
            }
            go_on(0)?;
            std::thread::sleep(IDLE_PAUSE);
        }
        Err(StoreError::Refused("queries read the segment all the time".into()))
    }

    /// Releases the mapping unless it is in use; returns whether it did. The next reader maps the file again.
    pub fn release_mapping(&self) -> bool {
        self.data.release()
    }

    /// The physical schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.physical
    }

    /// The schema of the file, whose columns may have other types: see [`decode`].
    pub fn stored_schema(&self) -> &SchemaRef {
        &self.layout.schema
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn row_count(&self) -> usize {
        *self.batch_starts.last().unwrap_or(&0)
    }

    pub fn batch_count(&self) -> usize {
        self.layout.blocks.len()
    }

    /// The rows of batch `index`, as positions in the segment.
    pub fn batch_rows(&self, index: usize) -> std::ops::Range<usize> {
        self.batch_starts[index]..self.batch_starts[index + 1]
    }

    /// The batch that has a row of the segment.
    pub fn batch_of(&self, row: usize) -> usize {
        self.batch_starts.partition_point(|start| *start <= row).saturating_sub(1)
    }

    pub fn batch_place(&self, index: usize) -> BatchPlace {
        let (message, body) = block_ranges(&self.layout.blocks[index]);
        BatchPlace { offset: message.start as u64, metadata_bytes: message.len() as u64, body_bytes: body.len() as u64 }
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub fn statistics(&self) -> &Arc<ZoneStatistics> {
        &self.statistics
    }

    /// The index over its column of packed attributes, if it has one. It is mapped at its first use.
    pub fn attribute_index(&self) -> Result<Option<Arc<AttributeIndex>>> {
        let (Some(expected_xxh3), opened) = &self.index else { return Ok(None) };
        if let Some(index) = opened.get() {
            return Ok(Some(Arc::clone(index)));
        }
        let index = self.open_index(*expected_xxh3)?;
        Ok(Some(Arc::clone(opened.get_or_init(|| Arc::new(index)))))
    }

    fn open_index(&self, expected_xxh3: u64) -> Result<AttributeIndex> {
        AttributeIndex::open(&SidePaths::of(&self.path).index, expected_xxh3, self.row_count() as u64)
    }

    /// The current mapping of the bytes. It stays while the result is held.
    pub fn mapping(&self) -> Result<Arc<Mapping>> {
        Ok(self.mapped()?.mapping)
    }

    /// Batch `index` with the columns `projection`. Columns that are stored in their physical type have every buffer in the mapping.
    pub fn batch(&self, index: usize, projection: &[usize]) -> Result<RecordBatch> {
        let stored = self.stored_batch(index, projection)?;
        if Arc::ptr_eq(&self.physical, &self.layout.schema) {
            return Ok(stored);
        }
        let stored = self.zone(&stored, 0, stored.num_rows())?;
        let mapping = self.mapping()?;
        let columns = stored.columns().iter().zip(projection);
        let columns = columns.map(|(column, index)| decode_exactly(column, self.physical.field(*index).data_type(), &mapping));
        let options = RecordBatchOptions::new().with_row_count(Some(stored.num_rows()));
        let schema = Arc::new(self.physical.project(projection)?);
        Ok(RecordBatch::try_new_with_options(schema, columns.collect::<Result<_>>()?, &options)?)
    }

    /// A column that [`Segment::zone`] gave, or some of its rows, in the physical type or a wider one; texts still lie in the mapping.
    pub fn decode(&self, stored: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        if stored.data_type() == to {
            return Ok(Arc::clone(stored));
        }
        decode_exactly(stored, to, &self.mapping()?)
    }

    /// The same as they are stored, with every buffer but dictionaries in the mapping; a buffer touched for the first time is verified against its
    /// checksum. [`Segment::zone`] makes arrays of it that can be read.
    pub fn stored_batch(&self, index: usize, projection: &[usize]) -> Result<RecordBatch> {
        let mapped = self.mapped()?;
        let batch = self.verified_batch(&mapped, index, projection);
        if batch.is_err() || mapped.mapping.damaged() {
            // Bytes that were cut off read as zeros and look like any damage, so the length is reported first.
            self.check_length()?;
        }
        batch
    }

    fn verified_batch(&self, mapped: &Mapped, index: usize, projection: &[usize]) -> Result<RecordBatch> {
        self.fetch_columns(mapped, &[index], projection)?;
        let batch = self.batch_at(mapped, index)?.project(projection)?;
        batch.columns().iter().try_for_each(|column| self.verify_buffers(&mapped.bytes, &column.to_data()))?;
        Ok(batch)
    }

    /// The bytes that `rows` rows of a column take in all its buffers; an even share of the batch.
    pub fn touched_bytes(&self, batch: usize, column: usize, rows: usize) -> usize {
        let Ok(decoded) = self.mapped().and_then(|mapped| self.batch_at(&mapped, batch)) else { return 0 };
        let total = buffer_bytes(&decoded.column(column).to_data());
        (total as u128 * rows as u128 / decoded.num_rows().max(1) as u128) as usize
    }

    /// `rows` rows from `start` of columns that [`Segment::stored_batch`] gave, each buffer in the mapping
    /// and, for memory accounting, no larger than what it shows. Offsets of texts are copied: those of a file that is cut short become zeros, and an
    /// array relies on them.
    pub fn zone(&self, columns: &RecordBatch, start: usize, rows: usize) -> Result<RecordBatch> {
        let slice = columns.slice(start, rows);
        let mapping = self.mapping()?;
        let arrays = slice.columns().iter().map(|array| match array.data_type() {
            DataType::Utf8 => with_own_offsets::<Utf8Type>(array.as_bytes(), &mapping).ok_or_else(|| self.cut_short()),
            DataType::Binary => with_own_offsets::<BinaryType>(array.as_bytes(), &mapping).ok_or_else(|| self.cut_short()),
            _ => Ok(exact(array, &mapping)),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(slice.schema(), arrays.collect::<Result<_>>()?, &options)?)
    }

    /// An error if the file was cut short while it was being read.
    pub fn check_intact(&self) -> Result<()> {
        let damaged = self.data.mapped.lock().as_ref().is_some_and(|mapped| mapped.mapping.damaged());
        if damaged { Err(self.cut_short()) } else { Ok(()) }
    }

    /// The same, even before a read has touched what is missing. A file that was removed is complete
    /// as long as it is mapped.
    pub fn check_length(&self) -> Result<()> {
        self.check_intact()?;
        match std::fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() < self.size_bytes => Err(self.cut_short()),
            _ => Ok(()),
        }
    }

    fn cut_short(&self) -> StoreError {
        StoreError::damaged(&self.path, 0, "it was cut short, or its medium failed, while it was being read")
    }

    fn batch_at(&self, mapped: &Mapped, index: usize) -> Result<Arc<RecordBatch>> {
        mapped.decoded.get(index, || {
            let block = &self.layout.blocks[index];
            let (message, body) = block_ranges(block);
            // It was verified on open, but that may be long ago, and wrong lengths here mean reads out of bounds.
            self.checksums.verify_again(&self.path, &mapped.bytes, message.start as u64)?;
            // SAFETY: the bytes of a sealed segment were written by this program from valid arrays; the
            // message is verified above and each buffer by `batch` before anybody reads it. Held by
            // `a_flipped_byte_in_a_buffer_is_an_error_for_the_query_that_touches_it` and
            // `a_segment_cut_short_anywhere_while_it_is_read_is_an_error_that_says_so`.
            let decoder = match self.decoder.get() {
                Some(decoder) => decoder,
                None => {
                    let decoder = unsafe { self.decoder_of(&mapped.bytes)?.with_skip_validation(true) };
                    self.decoder.get_or_init(|| decoder)
                }
            };
            let bytes = mapped.bytes.slice_with_length(message.start, body.end - message.start);
            let batch = decoder.read_record_batch(block, &bytes)?;
            batch.ok_or_else(|| StoreError::damaged(&self.path, message.start as u64, "a block is not a record batch"))
        })
    }

    /// It validates values, and has copies of the dictionaries, which are short.
    fn decoder_of(&self, bytes: &Buffer) -> Result<FileDecoder> {
        let mut decoder = FileDecoder::new(Arc::clone(&self.layout.schema), self.layout.version).with_require_alignment(true);
        for block in &self.layout.dictionaries {
            let (message, body) = block_ranges(block);
            self.checksums.verify_again(&self.path, bytes, message.start as u64)?;
            decoder.read_dictionary(block, &Buffer::from(&bytes[message.start..body.end]))?;
        }
        Ok(decoder)
    }

    /// Checks that every value is valid for its type, because checksums find damage and no malice.
    pub fn validate(&self) -> Result<()> {
        let mapped = self.mapped()?;
        self.fetch_all(&mapped, &mut |_| Ok(()))?;
        for block in &self.layout.blocks {
            let (message, body) = block_ranges(block);
            let bytes = mapped.bytes.slice_with_length(message.start, body.end - message.start);
            // Arrow panics if a buffer lies outside of its batch.
            let read =
                catch_unwind(AssertUnwindSafe(|| -> Result<_> { Ok(self.decoder_of(&mapped.bytes)?.read_record_batch(block, &bytes)?) }));
            let what = match read {
                Ok(Ok(Some(_))) => continue,
                Ok(Ok(None)) => "a block is not a record batch".to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "a buffer lies outside of its batch".to_string(),
            };
            return Err(StoreError::damaged(&self.path, message.start as u64, format!("its values are not of their types: {what}")));
        }
        Ok(())
    }

    fn verify_buffers(&self, bytes: &Buffer, data: &ArrayData) -> Result<()> {
        self.each_buffer(bytes, data, &mut |offset| self.checksums.verify_at(&self.path, bytes, offset))
    }

    /// Calls `visit` with the offsets of all buffers.
    fn each_buffer(&self, bytes: &Buffer, data: &ArrayData, visit: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let base = bytes.as_ptr() as usize;
        let end = base + bytes.len();
        let validity = data.nulls().map(|nulls| nulls.buffer());
        for buffer in data.buffers().iter().chain(validity).filter(|buffer| !buffer.is_empty()) {
            let at = buffer.as_ptr() as usize;
            // Arrow makes its own empty offset buffers; all buffers of a segment lie in the mapping.
            if (base..end).contains(&at) {
                visit((at - base) as u64)?;
            }
        }
        // Dictionaries are verified with the metadata of the file.
        if matches!(data.data_type(), DataType::Dictionary(..)) {
            return Ok(());
        }
        data.child_data().iter().try_for_each(|child| self.each_buffer(bytes, child, visit))
    }

    /// Verifies every byte of the segment; returns how many buffers and bytes were read. An error says why they could not be.
    pub fn verify_all(&self, problems: &mut Vec<String>) -> Result<(u64, u64)> {
        self.verify_mapped(&self.mapped()?, &mut |_| Ok(()), problems)
    }

    fn verify_mapped(&self, mapped: &Mapped, go_on: &mut dyn FnMut(u64) -> Result<()>, problems: &mut Vec<String>) -> Result<(u64, u64)> {
        self.fetch_all(mapped, go_on)?;
        let mut bytes = 0;
        for entry in self.checksums.entries() {
            if let Err(error) = self.checksums.verify_entry(&self.path, &mapped.bytes, entry) {
                problems.push(error.to_string());
            }
            bytes += entry.length;
        }
        // One that was opened before may be damaged by now.
        if let Some(Err(error)) = self.index.0.map(|expected_xxh3| self.open_index(expected_xxh3)) {
            problems.push(error.to_string());
        }
        if let Err(error) = self.check_intact() {
            problems.push(error.to_string());
        }
        Ok((self.checksums.entries().len() as u64, bytes))
    }

    /// The bytes, every one of them verified. They stay while the result is held.
    pub(crate) fn verified_mapping(&self, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<Arc<Mapping>> {
        let mapped = self.mapped()?;
        let mut problems = Vec::new();
        self.verify_mapped(&mapped, go_on, &mut problems)?;
        match problems.pop() {
            Some(problem) => Err(StoreError::Refused(problem)),
            None => Ok(mapped.mapping),
        }
    }
}

/// The same texts, with a copy of their offsets and no other texts; `None` if these are no offsets.
fn with_own_offsets<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>, mapping: &Arc<Mapping>) -> Option<ArrayRef> {
    let mut offsets = array.value_offsets().to_vec();
    let (first, last) = (*offsets.first()?, *offsets.last()?);
    if !offsets.is_sorted() || first < 0 || last as usize > array.values().len() {
        return None;
    }
    offsets.iter_mut().for_each(|offset| *offset -= first);
    let values = array.values().slice_with_length(first as usize, (last - first) as usize);
    // SAFETY: the offsets ascend and end within the values, as was checked, and the values are those between the offsets that the segment was written
    // with, or zeros. Held by `every_encoding_reads_back_equal` and `offsets_of_a_segment_that_is_cut_short_are_an_error`.
    let array = unsafe {
        let offsets = OffsetBuffer::new_unchecked(offsets.into());
        GenericByteArray::<T>::new_unchecked(offsets, values, array.nulls().cloned())
    };
    let array: ArrayRef = Arc::new(array);
    Some(exact(&array, mapping))
}

/// Views that are made of stored texts have buffers of their own size.
fn decode_exactly(stored: &ArrayRef, to: &DataType, mapping: &Arc<Mapping>) -> Result<ArrayRef> {
    let decoded = decode(stored, to)?;
    match decoded.data_type() {
        DataType::Utf8View | DataType::BinaryView if stored.data_type() != to => Ok(exact(&decoded, mapping)),
        _ => Ok(decoded),
    }
}

fn buffer_bytes(data: &ArrayData) -> usize {
    let validity = data.nulls().map_or(0, |nulls| nulls.buffer().len());
    let buffers: usize = data.buffers().iter().map(Buffer::len).sum();
    validity + buffers + data.child_data().iter().map(buffer_bytes).sum::<usize>()
}

fn batch_starts(path: &Path, bytes: &[u8], layout: &Layout) -> Result<Vec<usize>> {
    let mut starts = vec![0usize];
    for (index, block) in layout.blocks.iter().enumerate() {
        let (message, _) = block_ranges(block);
        let rows = arrow_ipc::root_as_message(&bytes[message.start + 8..message.end])
            .ok()
            .and_then(|message| message.header_as_record_batch())
            .and_then(|batch| usize::try_from(batch.length()).ok())
            .ok_or_else(|| StoreError::damaged(path, message.start as u64, "a block is not a record batch"))?;
        if index + 1 < layout.blocks.len() && rows % ZONE_ROWS != 0 {
            return Err(StoreError::damaged(path, message.start as u64, "a batch does not end with a zone"));
        }
        let end = starts[index].checked_add(rows);
        starts.push(end.ok_or_else(|| StoreError::damaged(path, message.start as u64, "it has an impossible number of rows"))?);
    }
    Ok(starts)
}
