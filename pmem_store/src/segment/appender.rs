//! Turns a stream of batches of any size into sealed segments of about the target size.
//!
//! Every record batch is a multiple of the zone, except for the last one of a segment. If rows are so wide that a zone of them does
//! not fit into memory, they end their segment.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::compact::{cast_to, compact, unstorable_column};
use super::encoding::{LeastWidths, SegmentEncoder};
use super::in_place::{Elements, InPlaceRows, OtherColumns};
use super::seal::{SealedSegment, remove_segment_files};
use super::writer::{SegmentWriter, bound_bytes, capacity_for_one};
use super::{BATCH_ZONES, SEGMENT_TARGET_BYTES};
use crate::ZONE_ROWS;
use crate::error::{Result, StoreError};
use crate::files;
use crate::region::{PoisonFlag, RegionKind};

/// A batch is closed early, at a zone boundary, when this much waits in memory, or a quarter of what may wait.
const PENDING_BYTES_MAX: usize = 64 << 20;
const PENDING_ONE_OF: usize = 4;
/// A segment of wide rows has this much: when it waits, the segment ends without a whole zone. It exceeds the 64 MiB below which
/// compaction considers a segment small, by more than the estimate exceeds the written bytes: so compaction does not pick its own output of such rows again.
pub(crate) const WIDE_SEGMENT_BYTES: usize = 80 << 20;

pub struct Appender {
    dir: PathBuf,
    schema: SchemaRef,
    kind: RegionKind,
    poison: Arc<PoisonFlag>,
    next_segment: Arc<AtomicU64>,
    target_bytes: u64,
    one_segment: bool,
    is_plain: bool,
    widths: LeastWidths,
    /// With so many bytes waiting a batch is closed early,
    pending_bytes_max: usize,
    /// and with so many a segment.
    wide_pending_bytes_max: usize,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
    current: Option<(SegmentEncoder, SegmentWriter)>,
    sealed: Vec<SealedSegment>,
    finished: bool,
    /// The column that cannot be stored.
    unstorable: Option<String>,
    /// An error has lost rows: the remaining ones are not all that were given.
    lost_rows: bool,
    /// Keeps the store locked: another writer would take the same segment ids.
    _locked: Arc<dyn Any + Send + Sync>,
}

impl Appender {
    /// Writes segments of the physical schema `schema`, as files in `dir`.
    pub(crate) fn new(
        dir: PathBuf,
        schema: SchemaRef,
        kind: RegionKind,
        poison: Arc<PoisonFlag>,
        next_segment: Arc<AtomicU64>,
        locked: Arc<dyn Any + Send + Sync>,
    ) -> Appender {
        let (unstorable, widths) = (unstorable_column(&schema), LeastWidths::new(schema.fields().len()));
        Appender {
            dir,
            schema,
            kind,
            poison,
            next_segment,
            target_bytes: SEGMENT_TARGET_BYTES,
            one_segment: false,
            is_plain: false,
            widths,
            pending_bytes_max: PENDING_BYTES_MAX,
            wide_pending_bytes_max: WIDE_SEGMENT_BYTES,
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            current: None,
            sealed: Vec::new(),
            finished: false,
            unstorable,
            lost_rows: false,
            _locked: locked,
        }
    }

    /// Closes segments at another size than [`SEGMENT_TARGET_BYTES`].
    pub fn with_target_bytes(mut self, target_bytes: u64) -> Appender {
        self.target_bytes = target_bytes;
        self
    }

    /// Limits the bytes of waiting rows, for callers with less memory than the default takes.
    pub fn with_pending_bytes(mut self, bytes: usize) -> Appender {
        self.pending_bytes_max = PENDING_BYTES_MAX.min(bytes / PENDING_ONE_OF);
        self.wide_pending_bytes_max = WIDE_SEGMENT_BYTES.min(bytes);
        self
    }

    /// Stores all columns in their physical types.
    pub fn with_plain_columns(mut self) -> Appender {
        self.is_plain = true;
        self
    }

    /// Wide rows wait for others, whatever their size, because the caller has only one id. The caller chooses the target.
    pub(crate) fn in_one_segment(mut self) -> Appender {
        self.one_segment = true;
        self
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds rows; columns are matched by position and cast to the physical type where they differ.
    ///
    /// # Errors
    ///
    /// Rows wait until there are enough of them, so an error may be about earlier ones. After an error
    /// nothing more is taken and [`Appender::finish`] fails: a part of the rows is never committed.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.check()?;
        let (found, expected) = (batch.num_columns(), self.schema.fields().len());
        if found != expected {
            let message = format!("a batch of {found} columns was given for a table of {expected}");
            return Err(ArrowError::SchemaError(message).into());
        }
        self.write_in_pieces(batch)
    }

    /// Rows that share long texts grow when each of them gets its own copy: no more of them wait at once than may.
    fn write_in_pieces(&mut self, batch: RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        if rows > 1 && !self.one_segment && bound_bytes(&batch) as usize > self.wide_pending_bytes_max {
            self.write_in_pieces(batch.slice(0, rows / 2))?;
            return self.write_in_pieces(batch.slice(rows / 2, rows - rows / 2));
        }
        self.pending_rows += batch.num_rows();
        self.pending_bytes += bound_bytes(&batch) as usize;
        self.pending.push(batch);
        let written = self.write_full_batches();
        self.lost_rows = written.is_err();
        written
    }

    /// Appends rows as separate segments, after all rows given before: all columns but one as they are, and that one
    /// as `make` writes it, in place in the file. `rows` is the number of rows, as many as a segment should have.
    ///
    /// # Errors
    ///
    /// The errors of `make` too. After an error nothing more is taken, as after an error of [`Appender::write`].
    pub fn write_in_place<E: From<StoreError>>(
        &mut self,
        rows: OtherColumns,
        make: impl FnOnce(Elements<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.write_alone(rows, |writer, hole| {
            let (mut make, mut made) = (Some(make), None);
            let mut make =
                |bytes: &mut [u8]| made = make.take().zip(Elements::of(&hole.element, bytes)).map(|(make, elements)| make(elements));
            writer.write_around(&hole.rows, &hole.buffer, &mut make)?;
            match made {
                Some(made) => made,
                None => Err(StoreError::from(ArrowError::MemoryError("a segment does not begin at a page".into())).into()),
            }
        })
    }

    /// The same for a column of bytes, which are `pieces`, one for each row.
    pub(crate) fn write_pieces(&mut self, rows: OtherColumns, pieces: &[Buffer]) -> Result<()> {
        self.write_alone(rows, |writer, hole| writer.write_pieces_around(&hole.rows, &hole.buffer, pieces))
    }

    fn write_alone<E: From<StoreError>>(
        &mut self,
        rows: OtherColumns,
        write: impl FnOnce(&mut SegmentWriter, &InPlaceRows) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check()?;
        self.lost_rows = true;
        if self.pending_rows > 0 {
            self.write_last_batch()?;
        }
        self.seal_current()?;
        let hole = rows.with_hole(&self.schema)?;
        let encoder = SegmentEncoder::plain(&self.schema);
        let mut writer = self.new_segment(&encoder, capacity_for_one(&self.schema, bound_bytes(&hole.rows)))?;
        write(&mut writer, &hole)?;
        self.sealed.push(writer.seal()?);
        self.lost_rows = false;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if let Some(column) = &self.unstorable {
            return Err(StoreError::UnsupportedType(format!("column {column}")));
        }
        if self.lost_rows {
            let message = "rows before these could not be written, so no more are; write all of them again";
            return Err(ArrowError::InvalidArgumentError(message.into()).into());
        }
        Ok(())
    }

    fn write_full_batches(&mut self) -> Result<()> {
        while self.pending_rows >= BATCH_ZONES * ZONE_ROWS
            || (self.pending_bytes >= self.pending_bytes_max && self.pending_rows >= ZONE_ROWS)
        {
            let zones = (self.pending_rows / ZONE_ROWS).min(BATCH_ZONES);
            let batch = self.take_rows(zones * ZONE_ROWS)?;
            self.write_batch(&batch, false)?;
        }
        if self.pending_bytes >= self.wide_pending_bytes_max && !self.one_segment {
            self.write_last_batch()?;
            self.seal_current()?;
        }
        Ok(())
    }

    /// The last batch of a segment, so it may end anywhere.
    fn write_last_batch(&mut self) -> Result<()> {
        let batch = self.take_rows(self.pending_rows)?;
        self.write_batch(&batch, true)
    }

    /// Seals the open segment. All segments are durable, but not visible before they are committed.
    pub fn finish(mut self) -> Result<Vec<SealedSegment>> {
        self.check()?;
        if self.pending_rows > 0 {
            self.write_last_batch()?;
        }
        self.seal_current()?;
        if !self.sealed.is_empty() {
            // The table's directory may be new too.
            self.dir.ancestors().take(2).try_for_each(|dir| files::sync_store_dir(dir, &self.poison))?;
        }
        self.finished = true;
        Ok(std::mem::take(&mut self.sealed))
    }

    /// The first `rows` pending rows as one batch of the physical schema.
    fn take_rows(&mut self, rows: usize) -> Result<RecordBatch> {
        let mut pieces = Vec::new();
        let mut wanted = rows;
        let mut rest = Vec::new();
        for batch in self.pending.drain(..) {
            let taken = wanted.min(batch.num_rows());
            if taken > 0 {
                pieces.push(batch.slice(0, taken));
            }
            if taken < batch.num_rows() {
                rest.push(batch.slice(taken, batch.num_rows() - taken));
            }
            wanted -= taken;
        }
        self.pending = rest;
        self.pending_rows -= rows;
        self.pending_bytes = self.pending.iter().map(|batch| bound_bytes(batch) as usize).sum();
        let columns = self.schema.fields().iter().enumerate().map(|(index, field)| -> Result<ArrayRef> {
            // The cast comes first, because concatenated dictionaries may overflow the type of their keys.
            let arrays = pieces.iter().map(|piece| cast_to(piece.column(index), field.data_type()));
            let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
            let column = match arrays.as_slice() {
                [one] => Arc::clone(one),
                many => concat(&many.iter().map(|array| array.as_ref() as &dyn Array).collect::<Vec<_>>())?,
            };
            Ok(compact(&column))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn write_batch(&mut self, batch: &RecordBatch, last: bool) -> Result<()> {
        if let Some((encoder, writer)) = &mut self.current
            && let Some(stored) = encoder.encode(batch, &mut self.widths)?
            && writer.has_room_for(bound_bytes(&stored))
        {
            return writer.write(batch, &stored);
        }
        self.seal_current()?;
        let (encoder, stored) = self.encoded(batch, last)?;
        let room = capacity_for_one(encoder.stored(), bound_bytes(&stored));
        // A small write has one batch and does not preallocate a whole segment.
        let mut writer = self.new_segment(&encoder, if last { room } else { room.max(self.target_bytes) })?;
        let written = writer.write(batch, &stored);
        self.current = Some((encoder, writer));
        written
    }

    /// The first batch of a segment as it is stored.
    fn encoded(&mut self, batch: &RecordBatch, last: bool) -> Result<(SegmentEncoder, RecordBatch)> {
        // If there can be no other segment, there may be no batch that does not fit.
        if !self.is_plain && (last || !self.one_segment) {
            let mut encoder = SegmentEncoder::of(batch, &self.widths)?;
            if let Some(stored) = encoder.encode(batch, &mut self.widths)? {
                return Ok((encoder, stored));
            }
        }
        Ok((SegmentEncoder::plain(&self.schema), batch.clone()))
    }

    fn new_segment(&self, encoder: &SegmentEncoder, capacity_bytes: u64) -> Result<SegmentWriter> {
        let id = self.next_segment.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.join(format!("{id}.arrow"));
        let (physical, stored) = (&self.schema, encoder.stored());
        files::create_in(&self.dir, || {
            SegmentWriter::create(&path, id, Arc::clone(physical), stored, capacity_bytes, self.kind, &self.poison)
        })
    }

    fn seal_current(&mut self) -> Result<()> {
        if let Some((_, writer)) = self.current.take() {
            self.sealed.push(writer.seal()?);
        }
        Ok(())
    }
}

impl Drop for Appender {
    /// Without `finish` nothing was committed, so all files are removed.
    fn drop(&mut self) {
        if !self.finished && !self.poison.is_set() {
            for segment in &self.sealed {
                remove_segment_files(&self.dir.join(format!("{}.arrow", segment.id)));
            }
        }
    }
}
