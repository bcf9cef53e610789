//! `min` and `max` of nested values and intervals for many groups at once.
//!
//! DataFusion's adapter has one accumulator per group: 100,000 lists of two texts took 6 GB. Here the best values are stored together in
//! chunks. Each batch adds a chunk of the rows that are now the best of their groups. Rows that were replaced later stay until the total
//! takes twice the memory that it took right after the last cleanup.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, DynComparator, UInt32Array, new_null_array};
use arrow::compute::{interleave, nullif, take};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use pmem_store::compact;

use super::Comparable;

/// Allowed in addition to twice the memory after the last cleanup.
const SPARE_BYTES: usize = 4 << 20;
/// Each chunk may need a comparator for each batch.
const CHUNKS_MAX: usize = 256;

#[derive(Debug)]
pub struct GroupsBest {
    wanted: Ordering,
    chunks: Vec<Comparable>,
    /// The bytes of all chunks now, and after the last cleanup.
    bytes: usize,
    kept_bytes: usize,
    /// By group: the chunk and the row in it. `None` if the group has only NULLs.
    best: Vec<Option<(u32, u32)>>,
    /// A NULL, for those groups.
    nothing: ArrayRef,
}

impl GroupsBest {
    pub fn new(data_type: &DataType, is_max: bool) -> GroupsBest {
        let wanted = if is_max { Ordering::Greater } else { Ordering::Less };
        GroupsBest { wanted, chunks: Vec::new(), bytes: 0, kept_bytes: 0, best: Vec::new(), nothing: new_null_array(data_type, 1) }
    }

    fn values_of(&self, best: &[Option<(u32, u32)>]) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> =
            std::iter::once(&self.nothing).chain(self.chunks.iter().map(|chunk| &chunk.values)).map(|array| array.as_ref()).collect();
        let rows = best.iter().map(|found| found.map_or((0, 0), |(chunk, row)| (chunk as usize + 1, row as usize)));
        Ok(compact(&interleave(&arrays, &rows.collect::<Vec<_>>())?))
    }

    fn drop_replaced(&mut self) -> Result<()> {
        if self.bytes > 2 * self.kept_bytes + SPARE_BYTES || self.chunks.len() > CHUNKS_MAX {
            let kept = Comparable::new(self.values_of(&self.best)?)?;
            self.kept_bytes = kept.bytes();
            self.bytes = self.kept_bytes;
            self.chunks = vec![kept];
            for (row, found) in self.best.iter_mut().enumerate() {
                *found = found.map(|_| (0, row as u32));
            }
        }
        Ok(())
    }
}

impl GroupsAccumulator for GroupsBest {
    fn update_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], filter: Option<&BooleanArray>, groups: usize) -> Result<()> {
        let values = Comparable::new(Arc::clone(&values[0]))?;
        self.best.resize(groups, None);
        // Meanwhile the batch itself acts as the last chunk.
        let batch = self.chunks.len();
        let mut orders: Vec<Option<DynComparator>> = (0..=batch).map(|_| None).collect();
        let nulls = values.values.logical_nulls();
        let is_taken = |row: usize| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        };
        for (row, group) in group_indices.iter().enumerate().filter(|(row, _)| is_taken(*row)) {
            let is_better = match self.best[*group] {
                Some((chunk, best)) => {
                    let order = match &mut orders[chunk as usize] {
                        Some(order) => order,
                        none => none.insert(values.exact_comparator(self.chunks.get(chunk as usize).unwrap_or(&values))?),
                    };
                    order(row, best as usize) == self.wanted
                }
                None => true,
            };
            if is_better {
                self.best[*group] = Some((batch as u32, row as u32));
            }
        }
        let mut winners = Vec::new();
        for (row, group) in group_indices.iter().enumerate() {
            if self.best[*group] == Some((batch as u32, row as u32)) {
                winners.push((row as u32, *group));
            }
        }
        if !winners.is_empty() {
            let rows: UInt32Array = winners.iter().map(|(row, _)| *row).collect::<Vec<_>>().into();
            let chunk = Comparable::new(compact(&take(&values.values, &rows, None)?))?;
            self.bytes += chunk.bytes();
            self.chunks.push(chunk);
            for (place, (_, group)) in winners.iter().enumerate() {
                self.best[*group] = Some((batch as u32, place as u32));
            }
        }
        self.drop_replaced()
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(filter) = filter else { return Ok(values.to_vec()) };
        let is_hidden: BooleanArray = filter.iter().map(|is_shown| Some(is_shown != Some(true))).collect();
        values.iter().map(|values| Ok(nullif(values, &is_hidden)?)).collect()
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let best = emit_to.take_needed(&mut self.best);
        let values = self.values_of(&best)?;
        if self.best.is_empty() {
            (self.bytes, self.kept_bytes) = (0, 0);
            self.chunks = Vec::new();
        }
        self.drop_replaced()?;
        Ok(values)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.best.capacity() * size_of::<Option<(u32, u32)>>() + self.bytes
    }
}
