//! Makes the blocks of a result, some at a time, so that small ones are made together: in memory for the output, or
//! in place in the table that is being built.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, internal_err};
use pmem_store::segment::{OtherColumns, rows_of_segment};

use super::blocks::Key;
use super::element::Element;
use super::fill::{Sizes, fill};
use super::in_place::InPlaceTable;
use super::outputs::Outputs;
use super::padding;
use super::work::{Each, Inputs, PendingBlock, Plan, PlannedBlock};
use crate::numeric::elements::Stores;
use crate::threads::{StopFlag, for_each};
use common::error::EngineError;

/// The size of a batch of the result, unless one block is larger. Half a millisecond passes between two batches, to the reader and back,
/// in which nothing is computed: for sums in batches of 16 MiB that was a third of the time.
const BATCH_BYTES: RangeInclusive<usize> = 16 << 20..=64 << 20;
/// The share of the query's memory for one batch: several are in use while one is made.
const BATCH_PART: usize = 32;
/// The pairs of blocks of a batch, unless one block of the result has more.
const BATCH_PAIRS: usize = 1 << 20;

/// The meaning of a column of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Column {
    I,
    J,
    Block,
}

/// The form of the output, and the number of threads.
#[derive(Debug, Clone)]
pub struct OutputTarget {
    /// The schema of the output: of `columns`, or the count of rows made in place.
    pub schema: SchemaRef,
    pub columns: Vec<Column>,
    pub block_type: DataType,
    pub batch_rows: usize,
    pub batch_bytes: usize,
    pub threads: usize,
}

/// The bytes of a batch, for a query with so much memory.
pub fn batch_bytes(limit_bytes: usize) -> usize {
    (limit_bytes / BATCH_PART).clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end())
}

pub struct Run<T: Element> {
    inputs: Arc<Inputs<T>>,
    sizes: Sizes,
    plan: Plan,
    /// A block that did not fit into the last batch.
    ahead: Option<PlannedBlock>,
    target: OutputTarget,
    outputs: Outputs,
}

impl<T: Element> Run<T> {
    pub fn new(inputs: Arc<Inputs<T>>, sizes: Sizes, plan: Plan, target: OutputTarget, outputs: Outputs) -> Run<T> {
        Run { inputs, sizes, plan, ahead: None, target, outputs }
    }

    /// The next batch, made on the threads of the query; `None` at the end.
    pub fn next(&mut self, stop: &StopFlag) -> Result<Option<RecordBatch>> {
        let blocks_max = (self.target.batch_bytes / self.block_bytes()).clamp(1, self.target.batch_rows.max(1));
        let planned = self.planned(blocks_max, stop)?;
        if planned.is_empty() {
            return Ok(None);
        }
        let blocks = match self.target.columns.contains(&Column::Block) {
            true => Some(self.blocks(&planned, stop)?),
            false => None,
        };
        self.batch(&planned.iter().map(PlannedBlock::due).collect::<Vec<_>>(), blocks).map(Some)
    }

    /// Makes the next blocks in `table`, as many as a segment has, and returns their number, 0 at the end. `due` yields all blocks of
    /// the result once, so that their other columns exist before any block is made.
    pub fn next_in_place(&mut self, due: &mut Each<PendingBlock>, table: &dyn InPlaceTable, stop: &StopFlag) -> Result<usize> {
        let Some(rows_max) = rows_of_segment(self.block_bytes()) else {
            return internal_err!("blocks of {} bytes are not made in place", self.block_bytes());
        };
        let mut rows: Vec<PendingBlock> = Vec::new();
        while rows.len() < rows_max
            && let Some(row) = due(stop)?
        {
            rows.push(row);
            stop.check()?;
        }
        if rows.is_empty() {
            return Ok(0);
        }
        let around = OtherColumns { columns: self.columns(&rows, None), offsets: None, row_count: rows.len(), nulls: nulls(&rows) };
        table.write(around, &mut |elements| match T::of_elements(elements) {
            Some(values) => Ok(self.fill_segment(&rows, values, stop)?),
            None => Err(EngineError::internal("the blocks of a table have other elements than its kernel")),
        })?;
        Ok(rows.len())
    }

    /// Makes these blocks, which are the next ones, some at a time, because all of their pairs may be too many.
    fn fill_segment(&mut self, rows: &[PendingBlock], values: &mut [T], stop: &StopFlag) -> Result<()> {
        let (mut rows, mut values) = (rows, values);
        while !rows.is_empty() {
            let planned = self.planned(rows.len(), stop)?;
            if planned.is_empty() || !planned.iter().map(PlannedBlock::due).eq(rows[..planned.len()].iter().copied()) {
                return internal_err!("the blocks of a result are not those that were due");
            }
            let (now, later) = values.split_at_mut(planned.len() * self.block_width());
            self.fill(&planned, now, stop)?;
            (rows, values) = (&rows[planned.len()..], later);
        }
        Ok(())
    }

    /// The bytes of a block of the result.
    pub fn block_bytes(&self) -> usize {
        self.block_width() * size_of::<T>()
    }

    fn block_width(&self) -> usize {
        let [rows, columns] = self.sizes.result;
        rows * columns
    }

    fn planned(&mut self, blocks_max: usize, stop: &StopFlag) -> Result<Vec<PlannedBlock>> {
        let mut planned: Vec<PlannedBlock> = Vec::new();
        let mut pairs = 0;
        while planned.len() < blocks_max {
            let next = match self.ahead.take() {
                Some(next) => Some(next),
                None => (self.plan)(stop)?,
            };
            let Some(next) = next else { break };
            let of_next = next.work.pairs();
            if pairs + of_next > BATCH_PAIRS && !planned.is_empty() {
                self.ahead = Some(next);
                break;
            }
            planned.push(next);
            pairs += of_next;
            stop.check()?;
        }
        Ok(planned)
    }

    fn blocks(&mut self, planned: &[PlannedBlock], stop: &StopFlag) -> Result<ArrayRef> {
        let mut values = self.outputs.take::<T>(planned.len() * self.block_width())?;
        self.fill(planned, &mut values, stop)?;
        let DataType::FixedSizeList(item, width) = &self.target.block_type else {
            return internal_err!("the blocks of a result are of a fixed size");
        };
        let values = Arc::new(self.outputs.lend(values));
        let due: Vec<PendingBlock> = planned.iter().map(PlannedBlock::due).collect();
        Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *width, values, nulls(&due))?))
    }

    /// Writes these blocks to `values`, one after the other, and overwrites everything.
    fn fill(&self, planned: &[PlannedBlock], values: &mut [T], stop: &StopFlag) -> Result<()> {
        let [rows, columns] = self.sizes.result;
        let stores = Stores::of(size_of_val(values));
        // If there are few blocks, threads share each of them.
        let rows_max = rows.div_ceil(self.target.threads.div_ceil(planned.len()).max(1));
        let mut panels = Vec::new();
        for (planned, block) in planned.iter().zip(values.chunks_mut(rows * columns)) {
            let panel_rows = self.sizes.panel_rows(&planned.work, size_of::<T>()).min(rows_max);
            for (number, panel) in block.chunks_mut(panel_rows * columns).enumerate() {
                let first = number * panel_rows;
                panels.push((planned, first..first + panel.len() / columns, panel));
            }
        }
        let (inputs, sizes) = (&self.inputs, &self.sizes);
        for_each(self.target.threads, stop, panels, |(planned, rows, panel)| {
            let first = rows.start;
            fill(inputs, sizes, &planned.work, rows, panel, stores, stop);
            if let Some(shape) = sizes.shape {
                padding::clear(panel, first, columns, padding::inside(shape, sizes.result, planned.i, planned.j));
            }
            Ok(())
        })?;
        // An incomplete batch does not go out.
        stop.check()
    }

    fn batch(&self, rows: &[PendingBlock], blocks: Option<ArrayRef>) -> Result<RecordBatch> {
        let columns = self.columns(rows, blocks.as_ref()).into_iter().flatten().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.target.schema), columns, &options)?)
    }

    /// The columns in the order of the output, with the given `blocks`.
    fn columns(&self, rows: &[PendingBlock], blocks: Option<&ArrayRef>) -> Vec<Option<ArrayRef>> {
        let keys = |key: fn(&PendingBlock) -> Key| -> ArrayRef { Arc::new(rows.iter().map(key).collect::<Int64Array>()) };
        let columns = self.target.columns.iter().map(|column| match column {
            Column::I => Some(keys(|row| row.i)),
            Column::J => Some(keys(|row| row.j)),
            Column::Block => blocks.cloned(),
        });
        columns.collect()
    }
}

/// The nulls of these blocks.
fn nulls(rows: &[PendingBlock]) -> Option<NullBuffer> {
    let valid: Vec<bool> = rows.iter().map(|row| !row.is_null).collect();
    valid.contains(&false).then(|| NullBuffer::from(valid))
}
