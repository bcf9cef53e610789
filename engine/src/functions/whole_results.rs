//! Aggregates whose result is all that they were given, in one value. When it is made it lies beside what they hold, so that is
//! counted from the start: DataFusion counts what an aggregate holds, and not what it makes of that in the end.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF};

use super::described_by_inner;

/// What it holds, the value that is made of it, and the column of that value.
const COPIES: usize = 3;

pub fn whole_results() -> [AggregateUDF; 2] {
    [string_agg_udaf(), array_agg_udaf()].map(|inner| AggregateUDF::from(WholeResult { inner }))
}

/// All but the counting is the aggregate's own.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WholeResult {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for WholeResult {
    described_by_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counted(self.inner.accumulator(args)?)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counted(self.inner.create_sliding_accumulator(args)?)))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(CountedGroups(self.inner.create_groups_accumulator(args)?)))
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn with_beneficial_ordering(self: Arc<Self>, is_ordered: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let inner = Arc::clone(self.inner.inner()).with_beneficial_ordering(is_ordered)?;
        Ok(inner.map(|inner| Arc::new(WholeResult { inner: Arc::new(AggregateUDF::new_from_shared_impl(inner)) }) as _))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(inner) => ReversedUDAF::Reversed(Arc::new(AggregateUDF::from(WholeResult { inner }))),
            same => same,
        }
    }
}

#[derive(Debug)]
struct Counted(Box<dyn Accumulator>);

impl Accumulator for Counted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        self.0.size().saturating_mul(COPIES)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }
}

struct CountedGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for CountedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.update_batch(values, group_indices, filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.0.merge_batch(values, group_indices, total_num_groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.0.size().saturating_mul(COPIES)
    }
}
