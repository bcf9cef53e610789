//! A function in Python over the rows of each group, as an aggregate of DataFusion. It needs all rows of a group at once, so they are collected,
//! and travel between partitions as lists.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, UInt64Array, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, filter, take};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::definition::Request;
use super::error::{PythonError, invalid};
use super::function::PythonFunction;
use common::memory::StatementMemory;
use common::user_functions::{AggregateKernel, UserAggregate, as_type, plain_field};

#[derive(Clone)]
struct PythonAggregate {
    function: PythonFunction,
    /// In the types that the function gets.
    parameters: Fields,
    returns: FieldRef,
    memory: Option<StatementMemory>,
}

/// `memory` is that of the statement that calls it.
pub fn aggregate_function(
    function: PythonFunction,
    parameters: &Fields,
    returns: FieldRef,
    memory: Option<StatementMemory>,
) -> UserAggregate {
    let name = function.definition.name.clone();
    let plain = parameters.iter().map(plain_field).collect();
    let kernel = PythonAggregate { function, parameters: plain, returns: FieldRef::clone(&returns), memory };
    UserAggregate::new(&name, parameters, returns, Box::new(kernel))
}

impl PythonAggregate {
    fn list_field(&self, at: usize) -> FieldRef {
        Arc::new(Field::new_list_field(self.parameters[at].data_type().clone(), true))
    }

    /// A value for each group; the rows of the groups follow each other.
    fn results(&self, columns: Vec<ArrayRef>, ends: Vec<usize>) -> Result<ArrayRef, PythonError> {
        let Some(memory) = &self.memory else { return Err(PythonError::Ended("it is called outside of a statement".into())) };
        let groups = ends.len();
        let batches = self.function.call(Request { ends, ..Request::default() }, &[vec![columns]], None, memory)?;
        let result = batches.first().map(|batch| batch.column(0)).filter(|column| column.len() == groups);
        Ok(as_type(result.ok_or_else(|| invalid("it has another number of values"))?, self.returns.data_type())?)
    }
}

impl AggregateKernel for PythonAggregate {
    fn identity(&self) -> String {
        self.function.identity()
    }

    fn state_fields(&self, name: &str) -> Vec<FieldRef> {
        let field = |at: usize| Arc::new(Field::new(format!("{name}[{at}]"), DataType::List(self.list_field(at)), true));
        (0..self.parameters.len()).map(field).collect()
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(Groups::of(self))))
    }

    fn groups_accumulator(&self) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::of(self)))
    }
}

/// The rows of all groups, in the order in which they came.
struct Groups {
    aggregate: PythonAggregate,
    /// The pieces of each column.
    columns: Vec<Vec<ArrayRef>>,
    /// The group of each row.
    groups: Vec<usize>,
    /// How many there are; some may have no rows.
    count: usize,
    bytes: usize,
}

impl Groups {
    fn of(aggregate: &PythonAggregate) -> Groups {
        let columns = vec![Vec::new(); aggregate.parameters.len()];
        Groups { aggregate: aggregate.clone(), columns, groups: Vec::new(), count: 0, bytes: 0 }
    }

    fn add(&mut self, columns: &[ArrayRef], groups: impl IntoIterator<Item = usize>, count: usize) -> Result<()> {
        self.groups.extend(groups);
        self.count = self.count.max(count);
        for ((pieces, column), field) in self.columns.iter_mut().zip(columns).zip(&self.aggregate.parameters) {
            let column = as_type(column, field.data_type())?;
            // Not that of the piece of a segment of which it may be a slice.
            self.bytes += column.to_data().get_slice_memory_size()?;
            pieces.push(column);
        }
        Ok(())
    }

    /// All rows, whatever their group is.
    fn all_rows(&mut self) -> Result<Vec<ArrayRef>> {
        for (pieces, field) in self.columns.iter_mut().zip(&self.aggregate.parameters) {
            if pieces.len() != 1 {
                *pieces = vec![joined(pieces, field.data_type())?];
            }
        }
        Ok(self.columns.iter().flatten().cloned().collect())
    }

    /// The rows of the first groups, which are removed, sorted by their groups, and where those of each end.
    fn take_groups(&mut self, emit: EmitTo) -> Result<(Vec<ArrayRef>, Vec<usize>)> {
        let taken = match emit {
            EmitTo::All => self.count,
            EmitTo::First(count) => count,
        };
        let mut ends = vec![0; taken];
        self.groups.iter().filter(|group| **group < taken).for_each(|group| ends[*group] += 1);
        let mut next = Vec::with_capacity(taken);
        let mut end = 0;
        for rows in &mut ends {
            next.push(end);
            end += *rows;
            *rows = end;
        }
        let (mut order, mut rest) = (vec![0_u64; end], Vec::new());
        for (row, group) in self.groups.iter().enumerate() {
            match next.get_mut(*group) {
                Some(at) => {
                    order[*at] = row as u64;
                    *at += 1;
                }
                None => rest.push(row as u64),
            }
        }
        let (order, rest) = (UInt64Array::from(order), UInt64Array::from(rest));
        let mut sorted = Vec::with_capacity(self.columns.len());
        let columns = std::mem::take(&mut self.columns);
        self.bytes = 0;
        for (pieces, field) in columns.into_iter().zip(&self.aggregate.parameters) {
            let column = joined(&pieces, field.data_type())?;
            sorted.push(take(&column, &order, None)?);
            let rest = take(&column, &rest, None)?;
            self.bytes += rest.to_data().get_slice_memory_size()?;
            self.columns.push(if rest.is_empty() { Vec::new() } else { vec![rest] });
        }
        self.groups = self.groups.iter().filter_map(|group| group.checked_sub(taken)).collect();
        self.count -= taken.min(self.count);
        Ok((sorted, ends))
    }

    fn results(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (columns, ends) = self.take_groups(emit)?;
        self.aggregate.results(columns, ends).map_err(|error| error.of(&self.aggregate.function.definition.name).into_datafusion())
    }

    fn lists(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (columns, ends) = self.take_groups(emit)?;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let offsets = OffsetBuffer::<i32>::from_lengths(starts.zip(&ends).map(|(start, end)| end - start));
        let list = |(at, column): (usize, ArrayRef)| -> Result<ArrayRef> {
            Ok(Arc::new(ListArray::try_new(self.aggregate.list_field(at), offsets.clone(), column, None)?))
        };
        columns.into_iter().enumerate().map(list).collect()
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        let lists: Vec<&ListArray> = states.iter().map(|state| state.as_list::<i32>()).collect();
        let Some(first) = lists.first() else { return Ok(()) };
        let of_rows = groups.iter().zip(first.offsets().lengths()).flat_map(|(group, rows)| std::iter::repeat_n(*group, rows));
        let of_rows: Vec<usize> = of_rows.collect();
        let values = |list: &&ListArray| {
            let (start, end) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
            list.values().slice(start, end - start)
        };
        let columns: Vec<ArrayRef> = lists.iter().map(values).collect();
        self.add(&columns, of_rows, count)
    }
}

fn joined(pieces: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef> {
    match pieces {
        [] => Ok(new_empty_array(data_type)),
        pieces => Ok(concat(&pieces.iter().map(|piece| piece.as_ref()).collect::<Vec<_>>())?),
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(&mut self, values: &[ArrayRef], groups: &[usize], condition: Option<&BooleanArray>, count: usize) -> Result<()> {
        let Some(condition) = condition else {
            return self.add(values, groups.iter().copied(), count);
        };
        let values = values.iter().map(|column| filter(column, condition)).collect::<Result<Vec<_>, _>>()?;
        let is_in = |row: usize| condition.is_valid(row) && condition.value(row);
        self.add(&values, groups.iter().enumerate().filter(|(row, _)| is_in(*row)).map(|(_, group)| *group), count)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.merge(values, groups, count)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.lists(emit)
    }

    /// Each row as a group of its own.
    fn convert_to_state(&self, values: &[ArrayRef], condition: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |column| column.len());
        let mut each = Groups::of(&self.aggregate);
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), condition, rows)?;
        each.lists(EmitTo::All)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.results(emit)
    }

    fn size(&self) -> usize {
        size_of::<Groups>() + self.bytes + self.groups.capacity() * size_of::<usize>()
    }
}

/// All rows as one group.
struct OneGroup(Groups);

impl fmt::Debug for OneGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OneGroup").field(&self.0.aggregate.function.definition.name).finish()
    }
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        self.0.add(values, std::iter::repeat_n(0, rows), 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |column| column.len());
        self.0.merge(states, &vec![0; rows], 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let lists = self.0.lists(EmitTo::First(1))?;
        lists.iter().map(|list| ScalarValue::try_from_array(list, 0)).collect()
    }

    /// A window evaluates it again and again while rows are added.
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (columns, rows) = (self.0.all_rows()?, self.0.groups.len());
        let aggregate = &self.0.aggregate;
        let result = aggregate.results(columns, vec![rows]);
        let result = result.map_err(|error| error.of(&aggregate.function.definition.name).into_datafusion())?;
        ScalarValue::try_from_array(&result, 0)
    }

    fn size(&self) -> usize {
        GroupsAccumulator::size(&self.0)
    }
}
