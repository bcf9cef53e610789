//! Aggregates of the rows of each group up to each row.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanBufferBuilder, Int64Array, PrimitiveArray, UInt64Array,
    downcast_primitive,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use datafusion::common::{Result, internal_err};
use semantics::functions::overflow::out_of_range;

use super::function::{AggregateKind, RunningAggregate};
use super::runs::Runs;

/// What is known of the last group, from its rows so far.
pub trait RunningState: Send {
    /// The values after each row of a batch.
    fn add(&mut self, arguments: &ArrayRef, groups: &Runs) -> Result<RunningValues>;
}

/// Sums, extremes or counts after each row.
pub struct RunningValues {
    pub values: ArrayRef,
    /// How many arguments were not NULL; only for a mean.
    pub counts: Option<ArrayRef>,
}

pub fn running_state(aggregate: &RunningAggregate) -> Result<Box<dyn RunningState>> {
    macro_rules! folded {
        ($type:ty, $step:expr) => {
            Ok(Box::new(Folded::<$type, _>::new(aggregate, $step)))
        };
    }
    macro_rules! extreme {
        ($type:ty, $is_better:ident) => {{
            type Native = <$type as ArrowPrimitiveType>::Native;
            folded!($type, |best: Native, value: Native| Some(if value.$is_better(best) { value } else { best }))
        }};
    }
    let value_type = &aggregate.value_type;
    match aggregate.kind {
        AggregateKind::Count => Ok(Box::new(Counter::default())),
        AggregateKind::Sum | AggregateKind::Average => match value_type {
            DataType::Int64 => folded!(Int64Type, |sum: i64, value| sum.checked_add(value)),
            DataType::UInt64 => folded!(UInt64Type, |sum: u64, value| sum.checked_add(value)),
            DataType::Float64 => folded!(Float64Type, |sum, value| Some(sum + value)),
            DataType::Decimal128(..) => folded!(Decimal128Type, |sum: i128, value| sum.checked_add(value)),
            other => internal_err!("a running sum of {other}"),
        },
        AggregateKind::Min => downcast_primitive!(
            value_type => (extreme, is_lt),
            other => internal_err!("the least of {other}")
        ),
        AggregateKind::Max => downcast_primitive!(
            value_type => (extreme, is_gt),
            other => internal_err!("the greatest of {other}")
        ),
    }
}

#[derive(Default)]
struct Counter {
    count: i64,
}

impl RunningState for Counter {
    fn add(&mut self, arguments: &ArrayRef, groups: &Runs) -> Result<RunningValues> {
        let nulls = arguments.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let mut counts = Vec::with_capacity(arguments.len());
        for (rows, begins) in groups.iter() {
            if begins {
                self.count = 0;
            }
            counts.extend(rows.map(|row| {
                self.count += i64::from(nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)));
                self.count
            }));
        }
        Ok(RunningValues { values: Arc::new(Int64Array::from(counts)), counts: None })
    }
}

/// One value of all that were not NULL.
struct Folded<T: ArrowPrimitiveType, F> {
    value_type: DataType,
    is_mean: bool,
    value: Option<T::Native>,
    count: u64,
    /// `None` if the result is out of range.
    step: F,
}

impl<T: ArrowPrimitiveType, F> Folded<T, F> {
    fn new(aggregate: &RunningAggregate, step: F) -> Folded<T, F> {
        let is_mean = aggregate.kind == AggregateKind::Average;
        Folded { value_type: aggregate.value_type.clone(), is_mean, value: None, count: 0, step }
    }
}

impl<T: ArrowPrimitiveType, F: Fn(T::Native, T::Native) -> Option<T::Native> + Send> RunningState for Folded<T, F> {
    fn add(&mut self, arguments: &ArrayRef, groups: &Runs) -> Result<RunningValues> {
        let arguments = arguments.as_primitive::<T>();
        let rows = arguments.len();
        let nulls = arguments.nulls().filter(|nulls| nulls.null_count() > 0);
        let mut values: Vec<T::Native> = Vec::with_capacity(rows);
        let mut counts: Vec<u64> = Vec::with_capacity(if self.is_mean { rows } else { 0 });
        let mut validity = BooleanBufferBuilder::new(if nulls.is_some() { rows } else { 0 });
        for (rows, begins) in groups.iter() {
            if begins {
                (self.value, self.count) = (None, 0);
            }
            for row in rows {
                if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    let argument = arguments.value(row);
                    let value = match self.value {
                        Some(value) => (self.step)(value, argument).ok_or_else(|| out_of_range("a sum", &self.value_type))?,
                        None => argument,
                    };
                    self.value = Some(value);
                    self.count += 1;
                }
                values.push(self.value.unwrap_or_default());
                if nulls.is_some() {
                    validity.append(self.value.is_some());
                }
                if self.is_mean {
                    counts.push(self.count);
                }
            }
        }
        let nulls = nulls.map(|_| NullBuffer::new(validity.finish()));
        // As in the states of DataFusion's mean, a count is NULL where there is no value.
        let counts = self.is_mean.then(|| Arc::new(UInt64Array::new(counts.into(), nulls.clone())) as ArrayRef);
        let values = PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(self.value_type.clone());
        Ok(RunningValues { values: Arc::new(values), counts })
    }
}
