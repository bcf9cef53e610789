//! Sums that detect overflow.

use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of_val;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, DecimalType};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::overflow::out_of_range;
use super::{accumulates_as, accumulates_groups_as};

/// The bytes of a decimal can hold more digits than its precision allows.
fn fits<T: ArrowPrimitiveType>(value: &T::Native, data_type: &DataType) -> bool {
    let scalar = match ScalarValue::new_primitive::<T>(Some(*value), data_type) {
        Ok(scalar) => scalar,
        Err(_) => return false,
    };
    match scalar {
        ScalarValue::Decimal128(Some(value), precision, scale) => {
            Decimal128Type::validate_decimal_precision(value, precision, scale).is_ok()
        }
        ScalarValue::Decimal256(Some(value), precision, scale) => {
            Decimal256Type::validate_decimal_precision(value, precision, scale).is_ok()
        }
        _ => true,
    }
}

fn overflow(data_type: &DataType) -> datafusion::common::DataFusionError {
    out_of_range("a sum", data_type)
}

/// One sum, also over a window frame.
pub struct CheckedSumState<T: ArrowPrimitiveType> {
    /// The sum without what left the range of the type.
    sum: T::Native,
    /// How often the sum left its range upwards, minus how often downwards: the whole sum is in range if this is 0.
    wraps: i64,
    count: u64,
    data_type: DataType,
    /// The state over a frame is its sum and its count.
    is_sliding: bool,
}

impl<T: ArrowPrimitiveType> CheckedSumState<T> {
    pub fn new(data_type: &DataType, is_sliding: bool) -> Self {
        CheckedSumState { sum: T::default_value(), wraps: 0, count: 0, data_type: data_type.clone(), is_sliding }
    }

    fn valid(values: &PrimitiveArray<T>) -> u64 {
        (values.len() - values.null_count()) as u64
    }

    fn add(&mut self, values: &[T::Native]) {
        for value in values {
            self.sum = self.sum.add_checked(*value).unwrap_or_else(|_| {
                self.wraps += if value.is_lt(T::Native::ZERO) { -1 } else { 1 };
                self.sum.add_wrapping(*value)
            });
        }
    }

    fn subtract(&mut self, value: T::Native) {
        self.sum = self.sum.sub_checked(value).unwrap_or_else(|_| {
            self.wraps += if value.is_lt(T::Native::ZERO) { 1 } else { -1 };
            self.sum.sub_wrapping(value)
        });
    }
}

impl<T: ArrowPrimitiveType> fmt::Debug for CheckedSumState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedSumState({})", self.data_type)
    }
}

impl<T: ArrowPrimitiveType> Accumulator for CheckedSumState<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        match values.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.add(values.values()),
            Some(nulls) => nulls.valid_slices().for_each(|(start, end)| self.add(&values.values()[start..end])),
        }
        self.count += Self::valid(values);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(&states[..1])
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        values.iter().flatten().for_each(|value| self.subtract(value));
        self.count -= Self::valid(values);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.is_sliding
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = self.evaluate()?;
        Ok(if self.is_sliding { vec![sum, self.count.into()] } else { vec![sum] })
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.wraps != 0 || self.count > 0 && !fits::<T>(&self.sum, &self.data_type) {
            return Err(overflow(&self.data_type));
        }
        ScalarValue::new_primitive::<T>((self.count > 0).then_some(self.sum), &self.data_type)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of distinct values: collects them as DataFusion does, and adds them with an overflow check.
pub struct CheckedDistinctSum<T: ArrowPrimitiveType> {
    /// Its state is the list of the values.
    values: Box<dyn Accumulator>,
    data_type: DataType,
    native: PhantomData<fn() -> T>,
}

impl<T: ArrowPrimitiveType> fmt::Debug for CheckedDistinctSum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedDistinctSum({})", self.data_type)
    }
}

impl<T: ArrowPrimitiveType> CheckedDistinctSum<T> {
    pub fn new(values: Box<dyn Accumulator>, data_type: &DataType) -> Self {
        CheckedDistinctSum { values, data_type: data_type.clone(), native: PhantomData }
    }
}

impl<T: ArrowPrimitiveType> Accumulator for CheckedDistinctSum<T> {
    accumulates_as!(values: update_batch, state, merge_batch, retract_batch);

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.values.state()?;
        let list = state[0].to_array()?;
        let mut sum = CheckedSumState::<T>::new(&self.data_type, false);
        for values in list.as_list::<i32>().iter().flatten() {
            sum.update_batch(&[values])?;
        }
        sum.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}

/// Sums of many groups: DataFusion's own, whose addition sets a flag when it wraps. Partial sums are checked separately. So there may be
/// an error although all positive and negative numbers together would fit, but never a wrong sum.
pub struct CheckedGroups {
    pub sums: Box<dyn GroupsAccumulator>,
    pub overflowed: Arc<AtomicBool>,
    pub data_type: DataType,
}

impl CheckedGroups {
    fn check(&self) -> Result<()> {
        match self.overflowed.load(Ordering::Relaxed) {
            true => Err(overflow(&self.data_type)),
            false => Ok(()),
        }
    }
}

impl GroupsAccumulator for CheckedGroups {
    accumulates_groups_as!(sums: state, size);

    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.update_batch(values, group_indices, filter, total_num_groups)?;
        self.check()
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.sums.merge_batch(values, group_indices, total_num_groups)?;
        self.check()
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = self.sums.evaluate(emit_to)?;
        let fit = match self.data_type {
            DataType::Decimal128(precision, _) => sums.as_primitive::<Decimal128Type>().validate_decimal_precision(precision),
            DataType::Decimal256(precision, _) => sums.as_primitive::<Decimal256Type>().validate_decimal_precision(precision),
            _ => Ok(()),
        };
        fit.map_err(|_| overflow(&self.data_type))?;
        Ok(sums)
    }
}
