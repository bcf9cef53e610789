//! The candidate rows of one partition: a batch goes in, and rows that may be near enough stay.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, filter_record_batch, take, take_record_batch};
use arrow::datatypes::{Field, Float64Type, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;

use super::bound::{DistanceBound, OrderedDistance};
use super::early_abandon::EarlyAbandon;
use super::rule::{Distance, Ties};
use super::views::compacted;
use common::memory::LiveMemory;
use common::report::ReportCollector;

/// So many numbers or rows are processed before the bound is updated.
const SLICE_NUMBERS: usize = 1 << 16;
const SLICE_ROWS: usize = 1_024;
/// Candidates are pruned when there are so many more than the limit.
const SPARE_ROWS: usize = 1_024;
/// Candidates are concatenated in parts of so many rows or bytes, one after the other: only one part at a time needs twice the memory.
const PART_ROWS: usize = 8_192;
const PART_BYTES: usize = 4 << 20;

pub struct TopK {
    schema: SchemaRef,
    column: usize,
    /// The distance as an expression over the one column.
    distance: Arc<dyn PhysicalExpr>,
    of_column: SchemaRef,
    constant: Arc<dyn PhysicalExpr>,
    /// `None` before the first row: a constant that cannot be computed is no error if no row is compared with it.
    early_abandon: Option<Option<EarlyAbandon>>,
    bound: DistanceBound,
    parts: Vec<CandidateRows>,
    held_rows: usize,
    /// At this number of candidates, those that have become too far are dropped; if as many are left, they are passed on.
    full_rows: usize,
    /// The memory of the parts.
    live_memory: LiveMemory,
    reservation: MemoryReservation,
    of_bound: MemoryReservation,
    collector: Arc<ReportCollector>,
    /// The number of rows whose distance was abandoned.
    pub abandoned: usize,
}

/// Candidate rows of one batch.
struct CandidateRows {
    rows: RecordBatch,
    far: Vec<OrderedDistance>,
    bytes: usize,
}

impl TopK {
    pub fn new(
        schema: SchemaRef,
        distance: &Distance,
        k: usize,
        ties: Ties,
        reservation: MemoryReservation,
        collector: Arc<ReportCollector>,
    ) -> Result<TopK> {
        let column = distance.column.index();
        let of_column = Arc::new(Schema::new(vec![schema.field(column).clone()]));
        Ok(TopK {
            column,
            distance: over_one_column(&distance.expr, of_column.field(0))?,
            constant: Arc::clone(&distance.constant),
            early_abandon: None,
            of_column,
            schema,
            bound: DistanceBound::new(k, ties),
            parts: Vec::new(),
            held_rows: 0,
            full_rows: k.saturating_mul(2).saturating_add(SPARE_ROWS),
            live_memory: LiveMemory::default(),
            of_bound: reservation.new_empty(),
            reservation,
            collector,
            abandoned: 0,
        })
    }

    /// The number of rows of a batch that are processed in one step of a few milliseconds at most.
    pub fn slice_rows(&mut self) -> Result<usize> {
        let width = self.early_abandon()?.map_or(1, EarlyAbandon::width);
        Ok((SLICE_NUMBERS / width.max(1)).clamp(1, SLICE_ROWS))
    }

    fn early_abandon(&mut self) -> Result<Option<&EarlyAbandon>> {
        if self.early_abandon.is_none() {
            let one_row = RecordBatchOptions::new().with_row_count(Some(1));
            let nothing = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &one_row)?;
            self.early_abandon = Some(EarlyAbandon::new(&self.constant.evaluate(&nothing)?.into_array(1)?, "l2_distance")?);
        }
        Ok(self.early_abandon.as_ref().and_then(Option::as_ref))
    }

    /// Processes the next rows.
    pub fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let vectors = rows.column(self.column);
        let candidates = self.candidates(vectors)?;
        self.abandoned += rows.num_rows() - candidates.len();
        if candidates.is_empty() {
            return Ok(());
        }
        let far = self.distances(&take(vectors, &candidates, None)?)?;
        let mut nearest: Vec<(u32, OrderedDistance)> = Vec::new();
        for (row, far) in candidates.values().iter().zip(far) {
            if self.bound.take(far) {
                nearest.push((*row, far));
            }
        }
        self.of_bound.try_resize(self.bound.size_bytes())?;
        // Some were near enough only until others came.
        nearest.retain(|(_, far)| self.bound.keeps(*far));
        if nearest.is_empty() {
            return Ok(());
        }
        let (places, far): (Vec<u32>, Vec<OrderedDistance>) = nearest.into_iter().unzip();
        self.hold(take_record_batch(rows, &UInt32Array::from(places))?, far)
    }

    /// The rows that may be among the first, by the early check.
    fn candidates(&mut self, vectors: &ArrayRef) -> Result<UInt32Array> {
        let all = || UInt32Array::from_iter_values(0..vectors.len() as u32);
        let last = self.bound.last();
        let (Some(early_abandon), Some(OrderedDistance(Some(limit)))) = (self.early_abandon()?, last) else { return Ok(all()) };
        Ok(UInt32Array::from(early_abandon.near(vectors, limit)?))
    }

    fn distances(&self, vectors: &ArrayRef) -> Result<Vec<OrderedDistance>> {
        let batch = RecordBatch::try_new(Arc::clone(&self.of_column), vec![Arc::clone(vectors)])?;
        let distances = self.distance.evaluate(&batch)?.into_array(batch.num_rows())?;
        match distances.as_primitive_opt::<Float64Type>() {
            Some(distances) => Ok(distances.iter().map(OrderedDistance).collect()),
            None => internal_err!("l2_distance gives {} and not DOUBLE", distances.data_type()),
        }
    }

    fn hold(&mut self, rows: RecordBatch, far: Vec<OrderedDistance>) -> Result<()> {
        self.live_memory.look_at_all(&self.collector);
        let rows = compacted(&rows, &self.live_memory)?;
        let bytes = self.bytes_of(&rows, &far);
        self.reservation.try_grow(bytes)?;
        self.held_rows += far.len();
        self.parts.push(CandidateRows { rows, far, bytes });
        if self.held_rows >= self.full_rows {
            self.drop_far()?;
        }
        Ok(())
    }

    fn bytes_of(&mut self, rows: &RecordBatch, far: &[OrderedDistance]) -> usize {
        self.live_memory.take(rows) + size_of_val(far)
    }

    /// Rows to pass on before the end, if many are as far as the last: the sort above keeps few of them, and this keeps none.
    pub fn surplus(&mut self) -> Vec<RecordBatch> {
        if self.held_rows < self.full_rows {
            return Vec::new();
        }
        self.held_rows = 0;
        self.parts.drain(..).map(|part| part.rows).collect()
    }

    /// All candidates, in the order in which they came.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.drop_far()?;
        Ok(self.parts.drain(..).map(|part| part.rows).collect())
    }

    /// All candidates were passed on.
    pub fn handed_on(&mut self) {
        self.live_memory.forget();
        self.reservation.free();
    }

    fn drop_far(&mut self) -> Result<()> {
        let (mut joined, mut next, mut next_rows, mut next_bytes) = (Vec::new(), Vec::new(), 0, 0);
        for part in std::mem::take(&mut self.parts) {
            (next_rows, next_bytes) = (next_rows + part.far.len(), next_bytes + part.bytes);
            next.push(part);
            if next_rows >= PART_ROWS || next_bytes >= PART_BYTES {
                joined.extend(self.joined(std::mem::take(&mut next), next_bytes)?);
                (next_rows, next_bytes) = (0, 0);
            }
        }
        if !next.is_empty() {
            joined.extend(self.joined(next, next_bytes)?);
        }
        self.live_memory.forget();
        for part in &mut joined {
            part.bytes = self.bytes_of(&part.rows, &part.far);
        }
        self.reservation.try_resize(joined.iter().map(|part| part.bytes).sum())?;
        self.held_rows = joined.iter().map(|part| part.far.len()).sum();
        self.parts = joined;
        Ok(())
    }

    /// The rows that can still be among the first; `None` if there are none.
    fn joined(&mut self, mut parts: Vec<CandidateRows>, bytes: usize) -> Result<Option<CandidateRows>> {
        if let [part] = parts.as_slice()
            && part.far.iter().all(|far| self.bound.keeps(*far))
        {
            return Ok(parts.pop());
        }
        // The filtered rows, and their concatenation.
        self.reservation.try_grow(2 * bytes)?;
        let (mut filtered, mut all_far) = (Vec::with_capacity(parts.len()), Vec::new());
        for CandidateRows { rows, far, .. } in &parts {
            let keeps: Vec<bool> = far.iter().map(|far| self.bound.keeps(*far)).collect();
            all_far.extend(far.iter().zip(&keeps).filter(|(_, keeps)| **keeps).map(|(far, _)| *far));
            filtered.push(filter_record_batch(rows, &BooleanArray::from(keeps))?);
        }
        let rows = compacted(&concat_batches(&self.schema, &filtered)?, &self.live_memory)?;
        drop((parts, filtered));
        // It takes no more than its sources, which are counted until all parts are done.
        self.reservation.shrink(2 * bytes);
        Ok((rows.num_rows() > 0).then_some(CandidateRows { rows, far: all_far, bytes: 0 }))
    }
}

fn over_one_column(expr: &Arc<dyn PhysicalExpr>, field: &Field) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .transform_up(|node| {
            Ok(match node.is::<Column>() {
                true => Transformed::yes(Arc::new(Column::new(field.name(), 0)) as Arc<dyn PhysicalExpr>),
                false => Transformed::no(node),
            })
        })
        .data()
}
