//! `min` and `max` of floats, of intervals, and of lists, structs and maps. DataFusion's grouped versions replace a NaN by any value that
//! follows it, and ignore infinities. They compare the months of intervals before their days, and skip nested values with a NULL inside.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};
use datafusion::common::Result;
use datafusion::functions_aggregate::min_max::{Max, Min, max_udaf, min_udaf};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

use super::described_by_inner;
use super::nested_order::extreme::Best;
use super::nested_order::group_extreme::GroupsBest;

static MAX: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(AggregateUDF::from(Extreme { inner: max_udaf(), is_max: true })));
static MIN: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(AggregateUDF::from(Extreme { inner: min_udaf(), is_max: false })));

/// The replacement for DataFusion's `min` or `max` of such values.
pub fn own_extreme(function: &AggregateUDF) -> Option<&'static Arc<AggregateUDF>> {
    let inner = function.inner();
    if inner.downcast_ref::<Max>().is_some() {
        return Some(&MAX);
    }
    inner.downcast_ref::<Min>().map(|_| &*MIN)
}

pub fn own_min() -> Arc<AggregateUDF> {
    Arc::clone(&MIN)
}

/// DataFusion's aggregate with other accumulators; for floats, only the grouped accumulator differs.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    inner: Arc<AggregateUDF>,
    is_max: bool,
}

/// `$start` is the initial value, which every value replaces.
macro_rules! groups {
    ($self:ident, $data_type:ident, $type:ty) => {{
        type Native = <$type as ArrowPrimitiveType>::Native;
        // NaN is greater than every other number.
        let is_greater = |left: Native, right: Native| (left.is_nan() && !right.is_nan()) || left > right;
        let start = if $self.is_max { Native::NEG_INFINITY } else { Native::NAN };
        let is_max = $self.is_max;
        let accumulator = PrimitiveGroupsAccumulator::<$type, _>::new($data_type, move |found, value| {
            let takes_over = if is_max { is_greater(value, *found) } else { is_greater(*found, value) };
            if takes_over {
                *found = value;
            }
        });
        Ok(Box::new(accumulator.with_starting_value(start)))
    }};
}

impl AggregateUDFImpl for Extreme {
    described_by_inner!(without groups);

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.return_field.data_type().is_floating() {
            return self.inner.accumulator(args);
        }
        Ok(Box::new(Best::new(args.return_field.data_type(), self.is_max)?))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.return_field.data_type().is_floating() {
            return self.inner.inner().create_sliding_accumulator(args);
        }
        self.accumulator(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = args.return_field.data_type();
        match data_type {
            DataType::Float16 => groups!(self, data_type, Float16Type),
            DataType::Float32 => groups!(self, data_type, Float32Type),
            DataType::Float64 => groups!(self, data_type, Float64Type),
            _ => Ok(Box::new(GroupsBest::new(data_type, self.is_max))),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
