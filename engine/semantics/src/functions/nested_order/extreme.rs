//! `min` and `max` of nested values.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{Max, Min, max_udaf, min_udaf};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF};
use pmem_store::compact;

use super::comparator;
use super::group_extreme::GroupsBest;

static MAX: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(AggregateUDF::from(Extreme { inner: max_udaf(), is_max: true })));
static MIN: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(AggregateUDF::from(Extreme { inner: min_udaf(), is_max: false })));

/// What takes the place of DataFusion's `min` or `max`.
pub fn of(function: &AggregateUDF) -> Option<&'static Arc<AggregateUDF>> {
    let inner = function.inner();
    if inner.downcast_ref::<Max>().is_some() {
        return Some(&MAX);
    }
    inner.downcast_ref::<Min>().map(|_| &*MIN)
}

pub fn nested_min() -> Arc<AggregateUDF> {
    Arc::clone(&MIN)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    inner: Arc<AggregateUDF>,
    is_max: bool,
}

impl AggregateUDFImpl for Extreme {
    crate::functions::described_by_inner!(without groups);

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let nothing = ScalarValue::try_new_null(args.return_field.data_type())?;
        Ok(Box::new(Best { found: None, nothing, is_max: self.is_max }))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupsBest::new(args.return_field.data_type(), self.is_max)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

#[derive(Debug)]
struct Best {
    /// One row.
    found: Option<ArrayRef>,
    nothing: ScalarValue,
    is_max: bool,
}

impl Best {
    fn best_of(&self, values: &ArrayRef) -> Result<Option<usize>> {
        let order = comparator(values, values)?;
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
                let order = comparator(values, found)?(row, 0);
                if self.is_max { order.is_gt() } else { order.is_lt() }
            }
            None => true,
        };
        if takes_over {
            // A copy, which does not hold on to the batch.
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
