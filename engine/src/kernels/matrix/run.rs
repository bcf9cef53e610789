//! The blocks of a result, some at a time: enough of them that small ones are made together.

use std::iter::Peekable;
use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, internal_err};

use super::blocks::Key;
use super::element::Element;
use super::fill::{Sizes, fill};
use super::outputs::Outputs;
use super::work::{Inputs, Plan, Planned, Work};
use crate::error::EngineError;
use crate::kernels::threads::{Stop, for_each};

/// Of a batch of the result, unless one block has more.
const BATCH_BYTES: usize = 16 << 20;
/// Pairs of blocks of a batch, unless one block of the result has more.
const BATCH_PAIRS: usize = 1 << 20;

/// What a column of the result has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Column {
    I,
    J,
    Block,
}

/// What goes out, and on how many threads it is made.
#[derive(Debug, Clone)]
pub struct Target {
    /// Of `columns`.
    pub schema: SchemaRef,
    pub columns: Vec<Column>,
    pub block_type: DataType,
    pub batch_rows: usize,
    pub threads: usize,
}

pub struct Run<T: Element> {
    inputs: Arc<Inputs<T>>,
    sizes: Sizes,
    plan: Peekable<Plan>,
    target: Target,
    outputs: Outputs,
}

impl<T: Element> Run<T> {
    pub fn new(inputs: Arc<Inputs<T>>, sizes: Sizes, plan: Plan, target: Target, outputs: Outputs) -> Run<T> {
        Run { inputs, sizes, plan: plan.peekable(), target, outputs }
    }

    /// The next batch, which is made on the threads of the query; None at the end.
    pub fn next(&mut self, stop: &Stop) -> Result<Option<RecordBatch>> {
        let planned = self.planned(stop)?;
        if planned.is_empty() {
            return Ok(None);
        }
        let blocks = match self.target.columns.contains(&Column::Block) {
            true => Some(self.blocks(&planned, stop)?),
            false => None,
        };
        self.batch(&planned, blocks).map(Some)
    }

    fn planned(&mut self, stop: &Stop) -> Result<Vec<Planned>> {
        let [rows, columns] = self.sizes.result;
        let blocks_max = (BATCH_BYTES / (rows * columns * size_of::<T>())).clamp(1, self.target.batch_rows.max(1));
        let mut planned: Vec<Planned> = Vec::new();
        let mut pairs = 0;
        while planned.len() < blocks_max {
            let of_next = match self.plan.peek() {
                Some(Ok(Planned { work: Work::Products(pairs) | Work::VectorProducts(pairs), .. })) => pairs.len(),
                _ => 0,
            };
            if pairs + of_next > BATCH_PAIRS && !planned.is_empty() {
                break;
            }
            let Some(next) = self.plan.next() else { break };
            planned.push(next?);
            pairs += of_next;
            check(stop)?;
        }
        Ok(planned)
    }

    fn blocks(&mut self, planned: &[Planned], stop: &Stop) -> Result<ArrayRef> {
        let [rows, columns] = self.sizes.result;
        let mut values = self.outputs.take::<T>(planned.len() * rows * columns)?;
        // With few blocks, threads share each.
        let rows_max = rows.div_ceil(self.target.threads.div_ceil(planned.len()).max(1));
        let mut panels = Vec::new();
        for (planned, block) in planned.iter().zip(values.chunks_mut(rows * columns)) {
            let panel_rows = self.sizes.panel_rows(&planned.work, size_of::<T>()).min(rows_max);
            for (number, panel) in block.chunks_mut(panel_rows * columns).enumerate() {
                let first = number * panel_rows;
                panels.push((&planned.work, first..first + panel.len() / columns, panel));
            }
        }
        let (inputs, sizes) = (&self.inputs, &self.sizes);
        for_each(self.target.threads, stop, panels, |(work, rows, panel)| {
            fill(inputs, sizes, work, rows, panel, stop);
            Ok(())
        })?;
        // What is not whole does not go out.
        check(stop)?;
        let nulls: Vec<bool> = planned.iter().map(|planned| planned.work != Work::Null).collect();
        let nulls = nulls.contains(&false).then(|| NullBuffer::from(nulls));
        let DataType::FixedSizeList(item, width) = &self.target.block_type else {
            return internal_err!("the blocks of a result are of a fixed size");
        };
        let values = Arc::new(self.outputs.lend(values));
        Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *width, values, nulls)?))
    }

    fn batch(&self, planned: &[Planned], blocks: Option<ArrayRef>) -> Result<RecordBatch> {
        let keys = |key: fn(&Planned) -> Key| -> ArrayRef { Arc::new(planned.iter().map(key).collect::<Int64Array>()) };
        let columns = self.target.columns.iter().filter_map(|column| match column {
            Column::I => Some(keys(|planned| planned.i)),
            Column::J => Some(keys(|planned| planned.j)),
            Column::Block => blocks.clone(),
        });
        let columns = columns.collect();
        let options = RecordBatchOptions::new().with_row_count(Some(planned.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.target.schema), columns, &options)?)
    }
}

fn check(stop: &Stop) -> Result<()> {
    if stop.is_set() { Err(EngineError::Cancelled.into_datafusion()) } else { Ok(()) }
}
