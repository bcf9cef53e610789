//! The accumulating counts of a histogram: for one histogram, or for one per group.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, new_null_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::edges::Edges;
use crate::numeric::histogram::{Bins, Counter};
use common::messages::counted;
use common::tensors::refused;

/// Smaller batches are counted value by value.
const LARGE_ROWS: usize = 1024;

/// The counts of one histogram, also over a window frame.
#[derive(Debug)]
pub struct Counts {
    edges: Edges,
    /// Excludes the counts in `counter`. It may wrap around: a value that leaves a frame may have been counted in `counter`.
    counts: Vec<u64>,
    counter: Option<Counter>,
    /// A buffer for the values of a batch with NULLs. NaN replaces NULL, because neither is counted.
    without_nulls: Vec<f64>,
}

impl Counts {
    pub fn new(edges: Edges) -> Counts {
        Counts { edges, counts: Vec::new(), counter: None, without_nulls: Vec::new() }
    }

    fn list(&mut self) -> Result<ListArray> {
        let Some(bins) = self.edges.bins()? else { return lists_of(&[], None, 1) };
        self.counts.resize(bins.len(), 0);
        if let Some(counter) = self.counter.take() {
            self.counts.iter_mut().zip(counter.counts(bins)).for_each(|(count, more)| *count = count.wrapping_add(more));
        }
        lists_of(&self.counts, Some(bins.len()), 1)
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.edges.take(&values[1], |_| true)?;
        let Some(bins) = self.edges.bins()? else { return Ok(()) };
        self.counts.resize(bins.len(), 0);
        let column = values[0].as_primitive::<Float64Type>();
        if column.len() < LARGE_ROWS {
            for bin in column.iter().flatten().filter_map(|value| bins.find(value)) {
                self.counts[bin] = self.counts[bin].wrapping_add(1);
            }
            return Ok(());
        }
        let counter = self.counter.get_or_insert_with(|| Counter::new(bins));
        if column.null_count() == 0 {
            counter.add(bins, column.values());
        } else {
            self.without_nulls.clear();
            self.without_nulls.extend(column.iter().map(|value| value.unwrap_or(f64::NAN)));
            counter.add(bins, &self.without_nulls);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.edges.take_state(&states[1])?;
        let Some(bins) = self.edges.bins()?.map(Bins::len) else { return Ok(()) };
        self.counts.resize(bins, 0);
        let lists = states[0].as_list::<i32>();
        for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
            add(&mut self.counts, &lists.value(row));
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(bins) = self.edges.bins()? else { return Ok(()) };
        for bin in values[0].as_primitive::<Float64Type>().iter().flatten().filter_map(|value| bins.find(value)) {
            self.counts[bin] = self.counts[bin].wrapping_sub(1);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let counts = ScalarValue::List(Arc::new(self.list()?));
        let edges = edges_of(&self.edges, 1)?;
        Ok(vec![counts, ScalarValue::try_from_array(&edges, 0)?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::List(Arc::new(self.list()?)))
    }

    fn size(&self) -> usize {
        let counter = self.counter.as_ref().map_or(0, Counter::size_bytes);
        size_of_val(self) + self.edges.size_bytes() + counter + 8 * (self.counts.capacity() + self.without_nulls.capacity())
    }
}

/// The histograms of all groups, end to end.
pub struct GroupedCounts {
    edges: Edges,
    counts: Vec<u64>,
    groups: usize,
}

impl GroupedCounts {
    pub fn new(edges: Edges) -> GroupedCounts {
        GroupedCounts { edges, counts: Vec::new(), groups: 0 }
    }

    /// Makes room for so many groups. Returns the number of bins of each, if it is known.
    fn grow(&mut self, groups: usize) -> Result<Option<usize>> {
        self.groups = self.groups.max(groups);
        let Some(bins) = self.edges.bins()?.map(Bins::len) else { return Ok(None) };
        let counts = self.groups.checked_mul(bins).ok_or_else(|| too_many(self.groups, bins))?;
        self.counts.resize(counts, 0);
        Ok(Some(bins))
    }

    fn emit(&mut self, emit_to: EmitTo) -> Result<ListArray> {
        let bins = self.grow(0)?;
        let groups = match emit_to {
            EmitTo::All => self.groups,
            EmitTo::First(groups) => groups.min(self.groups),
        };
        self.groups -= groups;
        let rest = self.counts.split_off(groups * bins.unwrap_or(0));
        let emitted = std::mem::replace(&mut self.counts, rest);
        lists_of(&emitted, bins, groups)
    }
}

impl GroupsAccumulator for GroupedCounts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let passes = |row: usize| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        self.edges.take(&values[1], passes)?;
        let Some(width) = self.grow(total_num_groups)? else { return Ok(()) };
        let Some(bins) = self.edges.bins()? else { return Ok(()) };
        let column = values[0].as_primitive::<Float64Type>();
        for (row, (value, group)) in column.iter().zip(group_indices).enumerate() {
            if let Some(bin) = value.filter(|_| passes(row)).and_then(|value| bins.find(value)) {
                self.counts[group * width + bin] += 1;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.edges.take_state(&states[1])?;
        let Some(bins) = self.grow(total_num_groups)? else { return Ok(()) };
        let lists = states[0].as_list::<i32>();
        for (row, group) in group_indices.iter().enumerate() {
            if lists.is_valid(row) {
                add(&mut self.counts[group * bins..(group + 1) * bins], &lists.value(row));
            }
        }
        Ok(())
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let counts = self.emit(emit_to)?;
        let edges = edges_of(&self.edges, counts.len())?;
        Ok(vec![Arc::new(counts), edges])
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(self.emit(emit_to)?))
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows: Vec<usize> = (0..values[0].len()).collect();
        let mut of_rows = GroupedCounts::new(self.edges.clone());
        of_rows.update_batch(values, &rows, filter, rows.len())?;
        of_rows.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.edges.size_bytes() + 8 * self.counts.capacity()
    }
}

fn add(counts: &mut [u64], state: &ArrayRef) {
    for (count, more) in counts.iter_mut().zip(state.as_primitive::<Int64Type>().values()) {
        *count = count.wrapping_add(more.cast_unsigned());
    }
}

/// The counts as so many lists; NULLs if the bins are unknown.
fn lists_of(counts: &[u64], bins: Option<usize>, lists: usize) -> Result<ListArray> {
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let Some(bins) = bins else {
        let nulls = Some(NullBuffer::new_null(lists));
        return Ok(ListArray::try_new(item, OffsetBuffer::new_zeroed(lists), Arc::new(Int64Array::from(Vec::<i64>::new())), nulls)?);
    };
    if i32::try_from(counts.len()).is_err() {
        return Err(too_many(lists, bins));
    }
    let values: Int64Array = counts.iter().map(|count| count.cast_signed()).collect();
    Ok(ListArray::try_new(item, OffsetBuffer::from_repeated_length(bins, lists), Arc::new(values), None)?)
}

fn edges_of(edges: &Edges, lists: usize) -> Result<ArrayRef> {
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    match edges.in_state() {
        None => Ok(new_null_array(&DataType::List(item), lists)),
        Some(edges) => {
            let one =
                ScalarValue::new_list_nullable(&edges.iter().map(|edge| ScalarValue::from(*edge)).collect::<Vec<_>>(), &DataType::Float64);
            Ok(ScalarValue::List(one).to_array_of_size(lists)?)
        }
    }
}

fn too_many(groups: usize, bins: usize) -> datafusion::common::DataFusionError {
    let message = format!("histogram of {} with {} each is more than one result can hold", counted(groups, "group"), counted(bins, "bin"));
    refused(message, Some("group by fewer values, or count in fewer bins"))
}
