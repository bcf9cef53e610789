//! `min` and `max` of intervals.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{Max, Min, max_udaf, min_udaf};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ReversedUDAF};

use super::length::length_of;
use crate::functions::described_by_inner;

static MAX: LazyLock<Arc<AggregateUDF>> =
    LazyLock::new(|| Arc::new(AggregateUDF::from(IntervalExtreme { inner: max_udaf(), is_max: true })));
static MIN: LazyLock<Arc<AggregateUDF>> =
    LazyLock::new(|| Arc::new(AggregateUDF::from(IntervalExtreme { inner: min_udaf(), is_max: false })));

/// What takes the place of DataFusion's `min` or `max` where the argument is an interval.
pub fn interval_extreme(function: &AggregateUDF) -> Option<&'static Arc<AggregateUDF>> {
    let inner = function.inner();
    if inner.downcast_ref::<Max>().is_some() {
        return Some(&MAX);
    }
    inner.downcast_ref::<Min>().map(|_| &*MIN)
}

pub fn shortest() -> Arc<AggregateUDF> {
    Arc::clone(&MIN)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalExtreme {
    inner: Arc<AggregateUDF>,
    is_max: bool,
}

impl AggregateUDFImpl for IntervalExtreme {
    described_by_inner!(without groups);

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        false
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Extreme { found: None, is_max: self.is_max }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

#[derive(Debug)]
struct Extreme {
    found: Option<IntervalMonthDayNano>,
    is_max: bool,
}

impl Accumulator for Extreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for interval in values.iter().flat_map(|values| values.as_primitive::<IntervalMonthDayNanoType>().iter()).flatten() {
            // Of those that are as long it is always the same one, whatever their order.
            let rank = |interval: IntervalMonthDayNano| (length_of(interval), interval);
            let takes_over = self.found.is_none_or(|found| (rank(interval) > rank(found)) == self.is_max && interval != found);
            if takes_over {
                self.found = Some(interval);
            }
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
        match self.found {
            Some(_) => Ok(ScalarValue::IntervalMonthDayNano(self.found)),
            None => ScalarValue::try_new_null(&DataType::Interval(IntervalUnit::MonthDayNano)),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
