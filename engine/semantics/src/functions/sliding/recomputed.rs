//! Aggregates that are computed anew from the rows of each frame, which are kept for that.

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::Call;

#[derive(Debug)]
pub struct RecomputedAccumulator {
    call: Call,
    /// The arguments of the frame's rows; empty before the first rows.
    frame: Vec<ArrayRef>,
}

impl RecomputedAccumulator {
    pub fn new(call: Call) -> Self {
        RecomputedAccumulator { call, frame: Vec::new() }
    }

    fn of_frame(&self) -> Result<Box<dyn Accumulator>> {
        let mut accumulator = self.call.accumulator()?;
        if self.frame.first().is_some_and(|column| !column.is_empty()) {
            accumulator.update_batch(&self.frame)?;
        }
        Ok(accumulator)
    }
}

impl Accumulator for RecomputedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.frame = match self.frame.is_empty() {
            true => values.to_vec(),
            // Copies the frame, which costs less than computing it.
            false => {
                let grown = self.frame.iter().zip(values).map(|(held, new)| concat(&[held.as_ref(), new.as_ref()]));
                grown.collect::<std::result::Result<_, _>>()?
            }
        };
        Ok(())
    }

    /// Rows leave the frame in the order in which they came.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let gone = values.first().map_or(0, |column| column.len());
        for column in &mut self.frame {
            let Some(rest) = column.len().checked_sub(gone) else {
                return internal_err!("{gone} rows leave a frame of {}", column.len());
            };
            *column = column.slice(gone, rest);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.of_frame()?.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.of_frame()?.state()
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("frames of {} are not merged", self.call.name)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.frame.iter().map(|column| column.get_array_memory_size()).sum::<usize>()
    }
}
