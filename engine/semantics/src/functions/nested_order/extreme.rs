//! `min` and `max` of nested values and intervals.

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use pmem_store::compact;

use super::exact_comparator;

#[derive(Debug)]
pub struct Best {
    /// An array of one row.
    found: Option<ArrayRef>,
    nothing: ScalarValue,
    is_max: bool,
}

impl Best {
    pub fn new(data_type: &DataType, is_max: bool) -> Result<Best> {
        Ok(Best { found: None, nothing: ScalarValue::try_new_null(data_type)?, is_max })
    }

    fn best_of(&self, values: &ArrayRef) -> Result<Option<usize>> {
        let order = exact_comparator(values, values)?;
        let nulls = values.logical_nulls();
        let valid = (0..values.len()).filter(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row)));
        Ok(valid.reduce(|best, row| {
            let takes_over = if self.is_max { order(row, best).is_gt() } else { order(row, best).is_lt() };
            if takes_over { row } else { best }
        }))
    }
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = &values[0];
        let Some(row) = self.best_of(values)? else { return Ok(()) };
        let takes_over = match &self.found {
            Some(found) => {
                let order = exact_comparator(values, found)?(row, 0);
                if self.is_max { order.is_gt() } else { order.is_lt() }
            }
            None => true,
        };
        if takes_over {
            // A copy, so that the batch can be freed.
            self.found = Some(compact(&take(values, &UInt32Array::from(vec![row as u32]), None)?));
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match &self.found {
            Some(found) => ScalarValue::try_from_array(found, 0),
            None => Ok(self.nothing.clone()),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.nothing.size() + self.found.as_ref().map_or(0, |found| found.get_array_memory_size())
    }
}
