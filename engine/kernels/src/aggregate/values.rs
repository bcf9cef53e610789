//! Collects the values of a quantile: all of them, or those of each group.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanArray, LargeListArray, ListArray, PrimitiveArray, make_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Field, Float32Type, Float64Type};
use arrow::datatypes::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::fractions::{Fractions, QuantilePosition};

/// For so few positions, selecting each is faster than sorting.
const SELECTED_MAX: usize = 4;

/// All values, also of a window frame.
pub struct Values<T: ArrowPrimitiveType> {
    query: Query,
    values: Vec<T::Native>,
}

/// The requested quantiles of the values.
#[derive(Debug, Clone)]
struct Query {
    fractions: Fractions,
    data_type: DataType,
    is_distinct: bool,
}

impl<T: ArrowPrimitiveType> Values<T> {
    pub fn new(fractions: Fractions, data_type: DataType, is_distinct: bool) -> Self {
        Values { query: Query { fractions, data_type, is_distinct }, values: Vec::new() }
    }
}

impl<T: ArrowPrimitiveType> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values({})", self.query.data_type)
    }
}

impl<T: Ordered> Accumulator for Values<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        extend::<T>(&mut self.values, &natives::<T>(&values[0])?);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states[0].as_list::<i64>();
        for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
            extend::<T>(&mut self.values, &natives::<T>(&lists.value(row))?);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let retractions = natives::<T>(&values[0])?;
        let mut retractions: Vec<T::Native> = retractions.iter().flatten().collect();
        retractions.sort_unstable_by(|one, other| one.compare(*other));
        self.values.sort_unstable_by(|one, other| one.compare(*other));
        let mut retractions = retractions.into_iter().peekable();
        self.values.retain(|value| retractions.next_if(|first| first.compare(*value) == Ordering::Equal).is_none());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let lists = self.query.lists::<T>(vec![std::mem::take(&mut self.values)])?;
        Ok(vec![ScalarValue::LargeList(Arc::new(lists))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let results = self.query.results::<T>(std::slice::from_mut(&mut self.values))?;
        ScalarValue::try_from_array(&results, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<T::Native>()
    }
}

pub struct GroupedValues<T: ArrowPrimitiveType> {
    query: Query,
    groups: Vec<Vec<T::Native>>,
    /// The total capacity of the groups' vectors.
    capacity: usize,
}

impl<T: ArrowPrimitiveType> GroupedValues<T> {
    pub fn new(fractions: Fractions, data_type: DataType, is_distinct: bool) -> Self {
        GroupedValues { query: Query { fractions, data_type, is_distinct }, groups: Vec::new(), capacity: 0 }
    }

    fn change(&mut self, group: usize, change: impl FnOnce(&mut Vec<T::Native>)) {
        let values = &mut self.groups[group];
        let before = values.capacity();
        change(values);
        self.capacity += values.capacity() - before;
    }

    fn emit(&mut self, emit_to: EmitTo) -> Vec<Vec<T::Native>> {
        let emitted = emit_to.take_needed(&mut self.groups);
        self.capacity -= emitted.iter().map(Vec::capacity).sum::<usize>();
        emitted
    }
}

impl<T: Ordered> GroupsAccumulator for GroupedValues<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize_with(total_num_groups.max(self.groups.len()), Vec::new);
        let values = natives::<T>(&values[0])?;
        for (row, (value, group)) in values.iter().zip(group_indices).enumerate() {
            let passes = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if let Some(value) = value.filter(|_| passes) {
                self.change(*group, |values| values.push(value));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups.resize_with(total_num_groups.max(self.groups.len()), Vec::new);
        let lists = states[0].as_list::<i64>();
        for (row, group) in group_indices.iter().enumerate().filter(|(row, _)| lists.is_valid(*row)) {
            let more = natives::<T>(&lists.value(row))?;
            self.change(*group, |values| extend::<T>(values, &more));
        }
        Ok(())
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let emitted = self.emit(emit_to);
        Ok(vec![Arc::new(self.query.lists::<T>(emitted)?)])
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut emitted = self.emit(emit_to);
        self.query.results::<T>(&mut emitted)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows: Vec<usize> = (0..values[0].len()).collect();
        let mut of_rows = GroupedValues::<T> { query: self.query.clone(), groups: Vec::new(), capacity: 0 };
        of_rows.update_batch(values, &rows, filter, rows.len())?;
        of_rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<Vec<T::Native>>() + self.capacity * size_of::<T::Native>()
    }
}

impl Query {
    /// The state: one list per group.
    fn lists<T: ArrowPrimitiveType>(&self, mut groups: Vec<Vec<T::Native>>) -> Result<LargeListArray> {
        if self.is_distinct {
            groups.iter_mut().for_each(|values| make_distinct::<T>(values));
        }
        let offsets = OffsetBuffer::<i64>::from_lengths(groups.iter().map(Vec::len));
        // The values of a single group are not copied.
        let values = match groups.len() {
            1 => groups.swap_remove(0),
            _ => groups.concat(),
        };
        let item = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        Ok(LargeListArray::try_new(item, offsets, self.typed(PrimitiveArray::<T>::new(values.into(), None))?, None)?)
    }

    fn results<T: Ordered>(&mut self, groups: &mut [Vec<T::Native>]) -> Result<ArrayRef> {
        let mut quantiles = Vec::with_capacity(groups.len());
        let mut present = Vec::with_capacity(groups.len());
        let mut lengths = Vec::with_capacity(groups.len());
        for values in groups {
            let mut distinct = Vec::new();
            let values = match self.is_distinct {
                true => {
                    distinct.clone_from(values);
                    make_distinct::<T>(&mut distinct);
                    &mut distinct
                }
                false => values,
            };
            let places = self.fractions.places(values.len())?;
            present.push(!values.is_empty());
            lengths.push(if values.is_empty() { 0 } else { places.len() });
            match values.is_empty() {
                true if self.fractions.is_list => {}
                true => quantiles.push(T::default_value()),
                false => pick::<T>(values, &places, &mut quantiles),
            }
        }
        let nulls = present.contains(&false).then(|| NullBuffer::from(present));
        if !self.fractions.is_list {
            return self.typed(PrimitiveArray::<T>::new(quantiles.into(), nulls));
        }
        let item = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let quantiles = self.typed(PrimitiveArray::<T>::new(quantiles.into(), None))?;
        Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), quantiles, nulls)?))
    }

    /// Converts to the SQL type of the values.
    fn typed<T: ArrowPrimitiveType>(&self, values: PrimitiveArray<T>) -> Result<ArrayRef> {
        Ok(make_array(values.into_data().into_builder().data_type(self.data_type.clone()).build()?))
    }
}

/// The values as stored in memory: a date is a number.
fn natives<T: ArrowPrimitiveType>(values: &ArrayRef) -> Result<PrimitiveArray<T>> {
    Ok(PrimitiveArray::<T>::from(values.to_data().into_builder().data_type(T::DATA_TYPE).build()?))
}

fn extend<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, more: &PrimitiveArray<T>) {
    match more.null_count() {
        0 => values.extend_from_slice(more.values()),
        _ => values.extend(more.iter().flatten()),
    }
}

fn make_distinct<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>) {
    values.sort_unstable_by(|one, other| one.compare(*other));
    values.dedup_by(|one, other| one.compare(*other) == Ordering::Equal);
}

/// Selects the values at these positions of the order from unsorted values.
fn pick<T: Ordered>(values: &mut [T::Native], places: &[QuantilePosition], quantiles: &mut Vec<T::Native>) {
    let order = |one: &T::Native, other: &T::Native| one.compare(*other);
    let is_sorted = places.len() > SELECTED_MAX;
    if is_sorted {
        values.sort_unstable_by(order);
    }
    for place in places {
        let (first, second) = (place.low.min(place.high), place.low.max(place.high));
        if !is_sorted {
            let (_, _, after) = values.select_nth_unstable_by(first, order);
            if second > first {
                after.select_nth_unstable_by(0, order);
            }
        }
        quantiles.push(T::between(values[place.low], values[place.high], place.share));
    }
}

/// A type whose values can be sorted.
pub trait Ordered: ArrowPrimitiveType {
    /// Only `quantile_cont` interpolates, and only for the two types that override this.
    fn between(low: Self::Native, _high: Self::Native, _share: f64) -> Self::Native {
        low
    }
}

impl Ordered for Float64Type {
    fn between(low: f64, high: f64, share: f64) -> f64 {
        if share == 0.0 || low == high {
            return low;
        }
        let value = low * (1.0 - share) + high * share;
        // Processors compute a NaN with a sign from infinities; results have the one NaN without it.
        if value.is_nan() { f64::NAN } else { value }
    }
}

impl Ordered for Float32Type {
    fn between(low: f32, high: f32, share: f64) -> f32 {
        Float64Type::between(low.into(), high.into(), share) as f32
    }
}

macro_rules! ordered {
    ($($type:ty),*) => {
        $(impl Ordered for $type {})*
    };
}

ordered!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, Decimal128Type, Decimal256Type);
