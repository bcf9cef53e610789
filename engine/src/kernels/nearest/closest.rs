//! The rows of one partition that can be among the first: a batch goes in, those that may be near enough stay.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, filter_record_batch, take, take_record_batch};
use arrow::datatypes::{Field, Float64Type, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;

use super::bound::{Bound, Far};
use super::glance::Glance;
use super::rule::{Distance, Ties};
use crate::kernels::held::owned_bytes;
use crate::report::MappedPlaces;

/// Numbers that are looked at before the bound is told what was found, and rows.
const SLICE_NUMBERS: usize = 1 << 16;
const SLICE_ROWS: usize = 1_024;
/// Held rows are looked through again when there are so many more than asked for.
const SPARE_ROWS: usize = 1_024;

pub struct Closest {
    schema: SchemaRef,
    column: usize,
    /// The distance over the one column.
    distance: Arc<dyn PhysicalExpr>,
    of_column: SchemaRef,
    glance: Option<Glance>,
    bound: Bound,
    held: Vec<Held>,
    held_rows: usize,
    /// When that many are held, those are dropped that have become too far; as many that are left are handed on.
    full_rows: usize,
    reservation: MemoryReservation,
    mapped: MappedPlaces,
    /// Rows whose distance was given up.
    pub abandoned: usize,
}

struct Held {
    rows: RecordBatch,
    far: Vec<Far>,
}

impl Closest {
    pub fn new(
        schema: SchemaRef,
        distance: &Distance,
        k: usize,
        ties: Ties,
        reservation: MemoryReservation,
        mapped: MappedPlaces,
    ) -> Result<Closest> {
        let column = distance.column.index();
        let of_column = Arc::new(Schema::new(vec![schema.field(column).clone()]));
        let nothing = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &RecordBatchOptions::new().with_row_count(Some(1)))?;
        let constant = distance.constant.evaluate(&nothing)?.into_array(1)?;
        Ok(Closest {
            column,
            distance: over_one_column(&distance.expr, of_column.field(0))?,
            glance: Glance::new(&constant, "l2_distance")?,
            of_column,
            schema,
            bound: Bound::new(k, ties),
            held: Vec::new(),
            held_rows: 0,
            full_rows: k.saturating_mul(2).saturating_add(SPARE_ROWS),
            reservation,
            mapped,
            abandoned: 0,
        })
    }

    /// How many rows of a batch are looked at in one step of some milliseconds at most.
    pub fn slice_rows(&self) -> usize {
        let width = self.glance.as_ref().map_or(1, Glance::width);
        (SLICE_NUMBERS / width.max(1)).clamp(1, SLICE_ROWS)
    }

    /// Looks at the next rows.
    pub fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let vectors = rows.column(self.column);
        let candidates = self.candidates(vectors)?;
        self.abandoned += rows.num_rows() - candidates.len();
        if candidates.is_empty() {
            return Ok(());
        }
        let far = self.distances(&take(vectors, &candidates, None)?)?;
        let mut taken: Vec<(u32, Far)> = Vec::new();
        for (row, far) in candidates.values().iter().zip(far) {
            if self.bound.take(far) {
                taken.push((*row, far));
            }
        }
        // Some were near enough only until others came.
        taken.retain(|(_, far)| self.bound.keeps(*far));
        if taken.is_empty() {
            return Ok(());
        }
        let (places, far): (Vec<u32>, Vec<Far>) = taken.into_iter().unzip();
        self.hold(Held { rows: take_record_batch(rows, &UInt32Array::from(places))?, far })
    }

    /// Those of the rows that may be among the first, by a glance.
    fn candidates(&self, vectors: &ArrayRef) -> Result<UInt32Array> {
        let all = || UInt32Array::from_iter_values(0..vectors.len() as u32);
        let (Some(glance), Some(Far(Some(limit)))) = (&self.glance, self.bound.last()) else { return Ok(all()) };
        Ok(UInt32Array::from(glance.near(vectors, limit)?))
    }

    fn distances(&self, vectors: &ArrayRef) -> Result<Vec<Far>> {
        let batch = RecordBatch::try_new(Arc::clone(&self.of_column), vec![Arc::clone(vectors)])?;
        let distances = self.distance.evaluate(&batch)?.into_array(batch.num_rows())?;
        match distances.as_primitive_opt::<Float64Type>() {
            Some(distances) => Ok(distances.iter().map(Far).collect()),
            None => internal_err!("l2_distance gives {} and not DOUBLE", distances.data_type()),
        }
    }

    fn hold(&mut self, held: Held) -> Result<()> {
        self.reservation.try_grow(owned_bytes(&held.rows, &self.mapped))?;
        self.held_rows += held.far.len();
        self.held.push(held);
        if self.held_rows >= self.full_rows {
            self.drop_far()?;
        }
        Ok(())
    }

    /// Rows to hand on before the end, where many are as far as the last: the sort above needs few of them and this holds none.
    pub fn surplus(&mut self) -> Result<Option<RecordBatch>> {
        if self.held_rows < self.full_rows {
            return Ok(None);
        }
        let rows = self.finish()?;
        self.held_rows = 0;
        self.reservation.free();
        Ok(rows)
    }

    fn drop_far(&mut self) -> Result<()> {
        let mut parts = Vec::with_capacity(self.held.len());
        let mut all_far = Vec::new();
        for Held { rows, far } in self.held.drain(..) {
            let keeps: Vec<bool> = far.iter().map(|far| self.bound.keeps(*far)).collect();
            all_far.extend(far.into_iter().zip(&keeps).filter(|(_, keeps)| **keeps).map(|(far, _)| far));
            parts.push(filter_record_batch(&rows, &BooleanArray::from(keeps))?);
        }
        let rows = concat_batches(&self.schema, &parts)?;
        drop(parts);
        self.held_rows = rows.num_rows();
        self.reservation.try_resize(owned_bytes(&rows, &self.mapped))?;
        self.held.push(Held { rows, far: all_far });
        Ok(())
    }

    /// All rows that can be among the first, in the order in which they came.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if self.held.is_empty() {
            return Ok(None);
        }
        self.drop_far()?;
        Ok(self.held.pop().map(|held| held.rows))
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
