//! Aggregates that return all their input in one value. When that value is made, it exists next to what the aggregate holds. So both are
//! counted from the start: DataFusion counts only what an aggregate holds.
//!
//! The lists and structs that they hold are slices of the input batches, and DataFusion counts the whole batch for each: 57 GB for
//! `array_agg(l ORDER BY a)` of 100,000 short lists, and the same for `count(DISTINCT l)` and `any_value(l)` of as many groups. They hold
//! no more than their input.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use datafusion::common::Result;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF};

use super::bounded::values_bytes;
use super::{accumulates_as, accumulates_groups_as, described_by_inner};

/// The values it holds, the result made of them, and the column of that result.
const COPIES: usize = 3;
/// The overhead of a value that is held separately: a list is an array with its own buffers.
const VALUE_BYTES: usize = 512;

pub fn whole_results() -> [AggregateUDF; 2] {
    [string_agg_udaf(), array_agg_udaf()].map(|inner| AggregateUDF::from(WholeResult { inner, copies: COPIES }))
}

/// The wrapper for an aggregate that holds its values and returns a number or one of them.
pub fn holding_values(inner: &Arc<AggregateUDF>) -> Option<Arc<AggregateUDF>> {
    let is_such = inner.inner().downcast_ref::<WholeResult>().is_some();
    (!is_such).then(|| Arc::new(AggregateUDF::from(WholeResult { inner: Arc::clone(inner), copies: 1 })))
}

/// The aggregate with other memory accounting.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WholeResult {
    inner: Arc<AggregateUDF>,
    copies: usize,
}

impl WholeResult {
    fn counted(&self, inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        Box::new(Counted { inner, copies: self.copies, given_bytes: 0 })
    }
}

impl AggregateUDFImpl for WholeResult {
    described_by_inner!(without groups, order);

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    /// `string_agg` sorts what it holds, as `array_agg` does. So it has no use for sorted input, and two calls may have two orders.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        match self.copies {
            COPIES => AggregateOrderSensitivity::SoftRequirement,
            _ => self.inner.order_sensitivity(),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct && args.is_reversed && self.copies == COPIES {
            // DataFusion's sorts distinct values at the end, and ignores that the order should be reversed: of two such calls, one with
            // DESC, both had the order of the first.
            let order_bys: Vec<_> = args.order_bys.iter().map(|key| key.reverse()).collect();
            let args = AccumulatorArgs { order_bys: &order_bys, is_reversed: false, ..args };
            return Ok(self.counted(self.inner.accumulator(args)?));
        }
        Ok(self.counted(self.inner.accumulator(args)?))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.counted(self.inner.create_sliding_accumulator(args)?))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(CountedGroups { inner: self.inner.create_groups_accumulator(args)?, copies: self.copies }))
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn with_beneficial_ordering(self: Arc<Self>, is_ordered: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let copies = self.copies;
        Ok(match Arc::clone(self.inner.inner()).with_beneficial_ordering(is_ordered)? {
            Some(inner) => Some(Arc::new(WholeResult { inner: Arc::new(AggregateUDF::new_from_shared_impl(inner)), copies })),
            None if copies == COPIES => Some(self),
            None => None,
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(inner) => {
                ReversedUDAF::Reversed(Arc::new(AggregateUDF::from(WholeResult { inner, copies: self.copies })))
            }
            same => same,
        }
    }
}

#[derive(Debug)]
struct Counted {
    inner: Box<dyn Accumulator>,
    copies: usize,
    /// The bytes of the input, with the overhead of each value.
    given_bytes: usize,
}

impl Counted {
    fn give(&mut self, columns: &[ArrayRef]) {
        let bytes = columns.iter().map(|column| values_bytes(column, 0, column.len()).saturating_add(column.len() * VALUE_BYTES));
        self.given_bytes = bytes.fold(self.given_bytes, usize::saturating_add);
    }

    /// Counts the lists of values in the states of all partitions so far.
    fn give_states(&mut self, states: &[ArrayRef]) {
        for state in states {
            match state.as_list_opt::<i32>() {
                Some(lists) => lists.iter().flatten().for_each(|values| self.give(&[values])),
                None => self.give(std::slice::from_ref(state)),
            }
        }
    }
}

impl Accumulator for Counted {
    accumulates_as!(inner: evaluate, state, retract_batch);

    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.give(values);
        self.inner.update_batch(values)
    }

    fn size(&self) -> usize {
        self.inner.size().min(size_of_val(self).saturating_add(self.given_bytes)).saturating_mul(self.copies)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.give_states(states);
        self.inner.merge_batch(states)
    }
}

struct CountedGroups {
    inner: Box<dyn GroupsAccumulator>,
    copies: usize,
}

impl GroupsAccumulator for CountedGroups {
    accumulates_groups_as!(inner: update_batch, evaluate, state, merge_batch);

    fn size(&self) -> usize {
        self.inner.size().saturating_mul(self.copies)
    }
}
