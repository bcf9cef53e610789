//! Aggregates that compute their results return the one NaN; `sum(x)` over both infinities is an example.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF};

use super::float::{scalar_with_one_nan, with_one_nan};
use super::{accumulates_as, accumulates_groups_as, described_by_inner};

/// None of them depends on the order of its rows; [`FloatResult`] could not pass that on.
const COMPUTED: [&str; 18] = [
    "sum",
    "avg",
    "stddev",
    "stddev_pop",
    "var",
    "var_pop",
    "covar_samp",
    "covar_pop",
    "corr",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "median",
];

pub fn computes(function: &AggregateUDF) -> bool {
    COMPUTED.contains(&function.name()) && function.inner().downcast_ref::<FloatResult>().is_none()
}

/// The replacement for an aggregate with float results.
pub fn float_result(function: &Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(FloatResult { inner: Arc::clone(function) }))
}

/// The aggregate itself, with another last step.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatResult {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for FloatResult {
    described_by_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneResult(self.inner.accumulator(args)?)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneResult(self.inner.create_sliding_accumulator(args)?)))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupResults(self.inner.create_groups_accumulator(args)?)))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(function) => ReversedUDAF::Reversed(float_result(&function)),
            same => same,
        }
    }
}

#[derive(Debug)]
struct OneResult(Box<dyn Accumulator>);

impl Accumulator for OneResult {
    accumulates_as!(0: update_batch, size, state, merge_batch, retract_batch);

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate().map(scalar_with_one_nan)
    }
}

struct GroupResults(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for GroupResults {
    accumulates_groups_as!(0: update_batch, state, merge_batch, size);

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to).map(|results| with_one_nan(&results))
    }
}
