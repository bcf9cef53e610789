//! One partition of a scan, zone by zone: prune, filter on the filter's columns, then read the others.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::RecordBatchStream;
use futures::Stream;
use pmem_store::segment::Fetched;
use pmem_store::{Tier, ZONE_ROWS};

use super::fetch::{FETCH_BATCHES, Fetch, fetch};
use super::filter::{CurrentFilter, ScanFilter, ZoneTest};
use super::metrics::ScanMetrics;
use super::part::ScanPart;
use super::partition::ScanUnit;
use super::row_id::row_id_field;
use super::selection::Selection;
use semantics::cancel::yield_now;

/// Copying a row of this size takes longer than returning it in a batch of its own.
const WIDE_ROW_BYTES: usize = 16 << 10;
/// How long the stream looks for a result before it yields; a cancellation waits no longer.
const POLL_MAX: Duration = Duration::from_millis(10);

pub struct ScanStream {
    pub(super) parts: Arc<[Arc<ScanPart>]>,
    pub(super) declared: SchemaRef,
    pub(super) physical: SchemaRef,
    /// Declared columns of the output, in order.
    pub(super) projection: Arc<[usize]>,
    pub(super) schema: SchemaRef,
    /// The projection without the row id, which is computed.
    pub(super) stored_columns: Arc<[usize]>,
    pub(super) row_id_place: Option<usize>,
    pub(super) filter: ScanFilter,
    pub(super) units: Vec<ScanUnit>,
    pub(super) metrics: ScanMetrics,
    /// Whether rows are returned in declared types, and small batches together; if not, zone by zone as they are stored.
    pub(super) decodes: bool,
    pub(super) coalescer: BatchCoalescer,
    /// Rows are so wide that runs of passing rows are returned in place, each as a batch, and not gathered.
    pub(super) is_wide: bool,
    /// Runs to be returned next.
    pub(super) runs: VecDeque<RecordBatch>,
    /// Rows still to skip.
    pub(super) skip: usize,
    /// Rows still to return.
    pub(super) remaining: usize,
    pub(super) next_unit: usize,
    pub(super) current: Option<OpenUnit>,
    /// The part that was read last.
    pub(super) read_part: Option<usize>,
    /// Where the rows of that part lie.
    pub(super) tier: Tier,
    pub(super) zone_mask: Option<ZoneMask>,
    /// Waits for a join above to have its keys, or for columns of the object tier; nothing is read before.
    pub(super) waiting: Option<Fetch>,
    pub(super) finished: bool,
}

/// The unit that is being read. Columns are read in place; `filter_columns` are those of the filter, which changes only between two
/// units.
pub struct OpenUnit {
    unit: ScanUnit,
    next_row: usize,
    filter_columns: RecordBatch,
    output_columns: Option<RecordBatch>,
    /// Of the output columns with the row id.
    output_schema: Option<SchemaRef>,
    first_row: usize,
    /// A zone with an expensive filter, of which each step evaluates one slice.
    zone: Option<OpenZone>,
}

/// What the statistics of a part say of its zones.
pub struct ZoneMask {
    /// The index of the part.
    part: usize,
    /// Whether some row may pass; `None` if that is so in all.
    keep: Option<Vec<bool>>,
    /// Whether all rows pass; `None` if that is known of none.
    whole: Option<Vec<bool>>,
}

struct OpenZone {
    /// The position in the batch.
    start: usize,
    rows: usize,
    test: ZoneTest,
}

enum ScanStep {
    Ready(RecordBatch),
    Nothing,
    End,
}

impl ScanStream {
    /// Partitions share segments, so one partition counts them, by the filter at the start.
    pub(super) fn count_segments(&self) -> Result<()> {
        let pruner = self.filter.current().pruner.as_ref();
        let mut pruned = 0;
        for part in self.parts.iter() {
            let mask = pruner.map(|pruner| pruner.keep(part, &self.physical)).transpose()?;
            pruned += usize::from(self.filter.current().never || mask.is_some_and(|mask| !mask.contains(&true)));
        }
        self.metrics.segments(self.parts.len(), pruned);
        Ok(())
    }

    fn step(&mut self) -> Result<ScanStep> {
        if let Some(run) = self.runs.pop_front().filter(|_| self.remaining > 0) {
            return Ok(ScanStep::Ready(self.limited(run)));
        }
        if let Some(batch) = self.coalescer.next_completed_batch() {
            return Ok(ScanStep::Ready(self.limited(batch)));
        }
        if self.finished || self.remaining == 0 {
            return Ok(ScanStep::End);
        }
        if self.current.is_none() && !self.open_next()? {
            self.finished = true;
            self.coalescer.finish_buffered_batch()?;
            return Ok(ScanStep::Nothing);
        }
        self.read_zone()
    }

    fn count_fetched(&self, fetched: Fetched) -> ScanStep {
        if fetched.ranges > 0 {
            self.metrics.fetched(fetched);
        }
        ScanStep::Nothing
    }

    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let skipped = batch.num_rows().min(self.skip);
        self.skip -= skipped;
        let rows = (batch.num_rows() - skipped).min(self.remaining);
        self.remaining -= rows;
        if rows < batch.num_rows() { batch.slice(skipped, rows) } else { batch }
    }

    /// Opens the next unit with remaining zones; returns false at the end.
    fn open_next(&mut self) -> Result<bool> {
        while let Some(unit) = self.units.get(self.next_unit).copied() {
            self.next_unit += 1;
            if self.filter.refresh()? {
                self.zone_mask = None;
            }
            let part = Arc::clone(&self.parts[unit.part]);
            let first_row = part.batch_rows(unit.batch).start;
            self.prune_part(unit.part, &part)?;
            let zones = zone_range(first_row + unit.start, unit.rows());
            if self.filter.current().never || !zones.into_iter().any(|zone| self.keeps(zone) && !part.is_zone_empty(zone)) {
                self.metrics.pruned(unit.rows(), unit.zones());
                continue;
            }
            // A skipped segment is not among those that the query reads: it may not be mapped.
            if self.read_part.replace(unit.part) != Some(unit.part) {
                self.metrics.reads(part.segment());
                self.tier = part.segment().map_or(Tier::Pmem, |segment| segment.tier());
            }
            let zones = zone_range(first_row + unit.start, unit.rows());
            let is_tested = zones.into_iter().any(|zone| self.keeps(zone) && !self.is_whole(zone) && !part.is_zone_empty(zone));
            let filter_columns = if is_tested { self.filter.current().columns.clone() } else { Vec::new() };
            if self.tier == Tier::Object && self.fetch_for(unit, &filter_columns) {
                self.next_unit -= 1;
                return Ok(true);
            }
            self.filter.read(part.stored())?;
            let filter_columns = part.stored_batch(unit.batch, &filter_columns)?;
            let next_row = unit.start;
            let (output_columns, output_schema, zone) = (None, None, None);
            self.current = Some(OpenUnit { unit, next_row, filter_columns, output_columns, output_schema, first_row, zone });
            return Ok(true);
        }
        Ok(false)
    }

    /// Begins to fetch columns of a unit and of some that follow in the same segment; returns false if they are here.
    fn fetch_for(&mut self, unit: ScanUnit, columns: &[usize]) -> bool {
        let part = &self.parts[unit.part];
        let is_needed = |next: &&ScanUnit| {
            let first_row = part.batch_rows(next.batch).start;
            zone_range(first_row + next.start, next.rows()).any(|zone| self.keeps(zone) && !part.is_zone_empty(zone))
        };
        // A query of few rows needs no more than the first.
        let batches_max = if self.remaining.saturating_add(self.skip) < unit.rows() { 1 } else { FETCH_BATCHES };
        let following = self.units.get(self.next_unit..).unwrap_or_default().iter().take_while(|next| next.part == unit.part);
        let mut batches: Vec<usize> = std::iter::once(&unit).chain(following.filter(is_needed)).map(|unit| unit.batch).collect();
        batches.dedup();
        batches.truncate(batches_max);
        self.waiting = fetch(part, batches, columns);
        self.waiting.is_some()
    }

    fn prune_part(&mut self, index: usize, part: &ScanPart) -> Result<()> {
        if self.zone_mask.as_ref().is_none_or(|mask| mask.part != index) {
            let CurrentFilter { pruner, whole_zones, .. } = self.filter.current();
            let keep = pruner.as_ref().map(|pruner| pruner.keep(part, &self.physical)).transpose()?;
            let whole = whole_zones.as_ref().map(|zones| zones.find(part)).transpose()?.flatten();
            self.zone_mask = Some(ZoneMask { part: index, keep, whole });
        }
        Ok(())
    }

    fn keeps(&self, zone: usize) -> bool {
        self.zone_mask.as_ref().and_then(|mask| mask.keep.as_ref()).is_none_or(|keep| keep[zone])
    }

    fn is_whole(&self, zone: usize) -> bool {
        self.zone_mask.as_ref().and_then(|mask| mask.whole.as_ref()).is_some_and(|whole| whole[zone])
    }

    /// Reads a zone, or tests one more slice of it.
    fn read_zone(&mut self) -> Result<ScanStep> {
        let Some(mut zone) = self.take_zone()? else { return self.after_zone(ScanStep::Nothing) };
        let filter = self.filter.current();
        if !filter.advance(&mut zone.test)? {
            if let Some(open) = &mut self.current {
                open.zone = Some(zone);
            }
            return Ok(ScanStep::Nothing);
        }
        if zone.test.selection.is_none() {
            return self.after_zone(ScanStep::Nothing);
        }
        let is_read = |column: &usize| zone.test.has_read_columns() && filter.columns.contains(column);
        let others: Vec<usize> = self.stored_columns.iter().copied().filter(|column| !is_read(column)).collect();
        if self.tier == Tier::Object
            && let Some(unit) = self.current.as_ref().filter(|open| open.output_columns.is_none()).map(|open| open.unit)
            && self.fetch_for(unit, &Arc::clone(&self.stored_columns))
        {
            if let Some(open) = &mut self.current {
                open.zone = Some(zone);
            }
            return Ok(ScanStep::Nothing);
        }
        let read = if self.is_wide { zone.test.selection.runs(zone.rows).iter().map(|run| run.len()).sum() } else { zone.rows };
        self.touch(&others, read);
        let output = self.output_zone(zone.start, zone.rows)?;
        let step = match self.is_wide && self.decodes {
            true => self.emit_runs(&output, &zone.test.selection)?,
            false => self.emit(output, &zone.test.selection)?,
        };
        self.after_zone(step)
    }

    /// The current zone, or the next one; `None` if its statistics rule it out.
    fn take_zone(&mut self) -> Result<Option<OpenZone>> {
        let Some(open) = self.current.as_mut() else { return Ok(None) };
        if let Some(zone) = open.zone.take() {
            return Ok(Some(zone));
        }
        let start = open.next_row;
        let rows = ZONE_ROWS.min(open.unit.end - start);
        open.next_row += rows;
        let first_row = open.first_row + start;
        let part = Arc::clone(&self.parts[open.unit.part]);
        let alive = part.alive(first_row, rows);
        if alive.is_none() || !self.keeps(first_row / ZONE_ROWS) {
            self.metrics.pruned(rows, 1);
            return Ok(None);
        }
        let Some(open) = &self.current else { return Ok(None) };
        self.metrics.scanned(rows);
        if self.is_whole(first_row / ZONE_ROWS) {
            return Ok(Some(OpenZone { start, rows, test: ZoneTest::of_whole(alive) }));
        }
        let test = ZoneTest::new(part.zone(&open.filter_columns, start, rows)?, alive);
        self.touch(&self.filter.current().columns, rows);
        Ok(Some(OpenZone { start, rows, test }))
    }

    /// Counts the bytes of these columns in `rows` rows.
    fn touch(&self, columns: &[usize], rows: usize) {
        let Some(ScanUnit { part, batch, .. }) = self.current.as_ref().map(|open| open.unit) else { return };
        let part = &self.parts[part];
        self.metrics.touched(columns.iter().map(|column| part.touched_bytes(batch, *column, rows)).sum(), self.tier);
    }

    fn after_zone(&mut self, step: ScanStep) -> Result<ScanStep> {
        if let Some(open) = self.current.take_if(|open| open.next_row >= open.unit.end) {
            // A file that was truncated while we read it shows zeros: an error is better than a wrong row.
            self.parts[open.unit.part].check_intact()?;
        }
        Ok(step)
    }

    /// The output columns of a zone, as they are stored.
    fn output_zone(&mut self, start: usize, rows: usize) -> Result<RecordBatch> {
        let Some(open) = &mut self.current else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        };
        let part = &self.parts[open.unit.part];
        let columns = match &open.output_columns {
            Some(columns) => columns,
            None => open.output_columns.insert(part.stored_batch(open.unit.batch, &self.stored_columns)?),
        };
        // Before mapped rows are returned: nobody checks them afterwards.
        part.check_length()?;
        let zone = part.zone(columns, start, rows)?;
        let Some(place) = self.row_id_place else { return Ok(zone) };
        let mut arrays = zone.columns().to_vec();
        arrays.insert(place, part.row_ids(open.first_row + start, rows)?);
        let schema = open.output_schema.get_or_insert_with(|| {
            let mut fields = zone.schema().fields().to_vec();
            fields.insert(place, Arc::new(row_id_field()));
            Arc::new(Schema::new(fields))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
    }

    /// Returns the rows that passed, in declared types: a whole zone in place, fewer rows gathered.
    fn emit(&mut self, zone: RecordBatch, selection: &Selection) -> Result<ScanStep> {
        let passed = selection.apply(&zone)?;
        if !self.decodes {
            return Ok(ScanStep::Ready(passed.unwrap_or(zone)));
        }
        let Some(passed) = passed else {
            let batch = self.restored(zone)?;
            if self.coalescer.is_empty() {
                return Ok(ScanStep::Ready(self.limited(batch)));
            }
            self.coalescer.push_batch(batch)?;
            return Ok(ScanStep::Nothing);
        };
        let passed = self.restored(passed)?;
        // The coalescer cannot hold batches without columns.
        let no_columns = passed.num_columns() == 0;
        if self.coalescer.is_empty() && (no_columns || passed.num_rows() * 2 >= ZONE_ROWS) {
            return Ok(ScanStep::Ready(self.limited(passed)));
        }
        self.coalescer.push_batch(passed)?;
        if self.coalescer.get_buffered_rows() >= self.remaining.saturating_add(self.skip) {
            self.coalescer.finish_buffered_batch()?;
        }
        Ok(ScanStep::Nothing)
    }

    fn emit_runs(&mut self, zone: &RecordBatch, selection: &Selection) -> Result<ScanStep> {
        for run in selection.runs(zone.num_rows()) {
            let batch = self.restored(zone.slice(run.start, run.len()))?;
            self.runs.push_back(batch);
        }
        Ok(ScanStep::Nothing)
    }

    /// The part that was read last.
    pub(super) fn open_part(&self) -> Result<Arc<ScanPart>> {
        match self.read_part {
            Some(part) => Ok(Arc::clone(&self.parts[part])),
            None => internal_err!("no part has been read"),
        }
    }

    /// Rows of the open part in declared types.
    fn restored(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let part = self.open_part()?;
        let columns = batch.columns().iter().zip(self.projection.iter());
        let columns = columns.map(|(array, column)| part.restore(array, *column, self.declared.field(*column).data_type()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// By fixed-size lists, such as vectors and blocks of matrices.
pub fn is_wide(schema: &Schema) -> bool {
    let bytes = schema.fields().iter().map(|field| match field.data_type() {
        DataType::FixedSizeList(item, size) => item.data_type().primitive_width().unwrap_or(0) * usize::try_from(*size).unwrap_or(0),
        _ => 0,
    });
    bytes.sum::<usize>() >= WIDE_ROW_BYTES
}

/// The zones of a segment with `rows` rows from `start`, which is the first row of a zone.
fn zone_range(start: usize, rows: usize) -> std::ops::Range<usize> {
    start / ZONE_ROWS..(start + rows).div_ceil(ZONE_ROWS)
}

impl ScanStream {
    pub(super) fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let this = self;
        let elapsed = this.metrics.baseline.elapsed_compute().clone();
        let _timer = elapsed.timer();
        let started = Instant::now();
        while started.elapsed() < POLL_MAX {
            let step = match &mut this.waiting {
                None => this.step(),
                Some(waiting) => match waiting.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(fetched) => {
                        this.waiting = None;
                        fetched.map(|fetched| this.count_fetched(fetched))
                    }
                },
            };
            match step {
                Ok(ScanStep::Ready(batch)) if batch.num_rows() == 0 => {}
                Ok(ScanStep::Ready(batch)) => return this.metrics.baseline.record_poll(Poll::Ready(Some(Ok(batch)))),
                Ok(ScanStep::Nothing) => {}
                Ok(ScanStep::End) => return Poll::Ready(None),
                Err(error) => {
                    this.finished = true;
                    this.current = None;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        yield_now(context)
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_batch(context)
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
