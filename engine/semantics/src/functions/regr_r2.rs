//! `regr_r2` is 1 if the dependent variable is the same in all rows, as in PostgreSQL: the line goes through every point.

use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::regr::regr_r2_udaf;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF};

use super::{accumulates_as, described_by_inner};

pub fn regr_r2() -> AggregateUDF {
    AggregateUDF::from(RegrR2 { inner: regr_r2_udaf() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegrR2 {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for RegrR2 {
    described_by_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneIfFlat(self.inner.accumulator(args)?)))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.reverse_udf()
    }
}

/// The state is the number of rows, both means, the squares of x, those of y, and the products.
#[derive(Debug)]
struct OneIfFlat(Box<dyn Accumulator>);

impl Accumulator for OneIfFlat {
    accumulates_as!(0: update_batch, size, state, merge_batch);

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let is_flat = match self.0.state()?.as_slice() {
            [_, _, _, ScalarValue::Float64(Some(of_x)), ScalarValue::Float64(Some(of_y)), _] => *of_x > 0.0 && *of_y == 0.0,
            _ => false,
        };
        if is_flat { Ok(ScalarValue::Float64(Some(1.0))) } else { self.0.evaluate() }
    }
}
