//! Functions of lists of intervals, or of values with intervals inside. They compare by length, so the function is called with other
//! values that compare the same way.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt64Array};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::has_intervals;
use super::length::lengths;
use crate::functions::bounded::{counted, inner_of};
use crate::functions::nested_order::{comparator, exact_comparator};
use crate::functions::nested_types::with_field;
use common::names::ANY_EQUALS;

/// Which values replace the intervals in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum IntervalFunction {
    /// Lengths, for functions that search for an interval.
    Lengths,
    /// Numbers in the order of the elements, for functions that return elements by their order.
    Numbers,
    /// For each row, the number of the first one of equal elements.
    First,
    /// The number of the second argument, for elements equal to it.
    Second,
}

fn interval_function(function: &str) -> Option<IntervalFunction> {
    Some(match function {
        "array_has" | ANY_EQUALS | "array_has_all" | "array_has_any" | "array_position" | "array_positions" => IntervalFunction::Lengths,
        "array_sort" | "array_max" | "array_min" => IntervalFunction::Numbers,
        "array_distinct" | "array_union" | "array_intersect" | "array_except" => IntervalFunction::First,
        "array_remove" | "array_remove_n" | "array_remove_all" | "array_replace" | "array_replace_n" | "array_replace_all" => {
            IntervalFunction::Second
        }
        _ => return None,
    })
}

/// The call of the function that compares by length, if its lists have intervals.
pub fn of_intervals(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let inner = inner_of(&call.func).unwrap_or(&call.func);
    let instead = interval_function(call.func.name()).filter(|_| inner.inner().downcast_ref::<OfIntervals>().is_none())?;
    let is_such = |arg: &Expr| {
        arg.get_type(schema).is_ok_and(|data_type| match (&data_type, instead) {
            (_, IntervalFunction::Lengths) => data_type.is_list() && has_intervals(&data_type),
            (DataType::List(item), _) => has_intervals(item.data_type()),
            _ => false,
        })
    };
    call.args.iter().any(is_such).then(|| {
        // Counts the size of the final result, and not that of the numbers.
        let function = counted(ScalarUDF::from(OfIntervals { inner: Arc::clone(inner), instead }));
        function.call(call.args.clone())
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfIntervals {
    inner: Arc<ScalarUDF>,
    instead: IntervalFunction,
}

impl ScalarUDFImpl for OfIntervals {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (rows, wanted) = (args.number_rows, Arc::clone(&args.return_field));
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let (arrays, elements) = match self.instead {
            IntervalFunction::Lengths => (arrays.iter().map(lengths).collect::<Result<Vec<_>>>()?, None),
            IntervalFunction::Numbers | IntervalFunction::First | IntervalFunction::Second => {
                let (arrays, elements) = with_numbers(&arrays, self.instead)?;
                (arrays, Some(elements))
            }
        };
        let retyped = |field: &Field, data_type: &DataType| Arc::new(field.clone().with_data_type(data_type.clone()));
        let arg_fields: Vec<FieldRef> =
            args.arg_fields.iter().zip(&arrays).map(|(field, array)| retyped(field, array.data_type())).collect();
        let found = match (&elements, wanted.data_type()) {
            (None, _) => Arc::clone(&wanted),
            (Some(elements), data_type) if elements.data_type() == data_type => retyped(&wanted, &DataType::Int64),
            (Some(_), data_type) => retyped(&wanted, &with_field(data_type, 0, DataType::Int64)),
        };
        let values = arrays.into_iter().map(ColumnarValue::Array).collect();
        let made = self.inner.invoke_with_args(ScalarFunctionArgs { args: values, arg_fields, return_field: found, ..args })?;
        match elements {
            Some(elements) => Ok(ColumnarValue::Array(elements_of(&made.into_array(rows)?, &elements)?)),
            None => Ok(made),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// The elements of one argument within the elements of all arguments.
struct Elements {
    start: usize,
    /// The offsets of lists; `None` if the argument is an element itself.
    offsets: Option<OffsetBuffer<i32>>,
    values: ArrayRef,
}

impl Elements {
    fn of(array: &ArrayRef, is_list: bool, start: usize) -> Option<Elements> {
        if !has_intervals(array.data_type()) {
            return None;
        }
        if !is_list {
            return Some(Elements { start, offsets: None, values: Arc::clone(array) });
        }
        let lists = array.as_list_opt::<i32>()?;
        Some(Elements { start, offsets: Some(lists.offsets().clone()), values: Arc::clone(lists.values()) })
    }

    fn range(&self, row: usize) -> Range<usize> {
        let (from, to) = self.offsets.as_ref().map_or((row, row + 1), |offsets| (offsets[row] as usize, offsets[row + 1] as usize));
        self.start + from..self.start + to
    }
}

/// The arguments with numbers in place of elements, and the elements in the order of their numbers.
fn with_numbers(arrays: &[ArrayRef], instead: IntervalFunction) -> Result<(Vec<ArrayRef>, ArrayRef)> {
    let arrays = arrays.iter().map(compact).collect::<Result<Vec<_>>>()?;
    let mut count = 0;
    let mut arguments = Vec::with_capacity(arrays.len());
    for (place, array) in arrays.iter().enumerate() {
        let found = Elements::of(array, place == 0 || instead == IntervalFunction::First, count);
        count += found.as_ref().map_or(0, |found| found.values.len());
        arguments.push(found);
    }
    let Some(first) = arguments.iter().flatten().next() else { return exec_err!("a call has no list of intervals") };
    let values = arguments.iter().flatten().map(|found| Ok(cast(&found.values, first.values.data_type())?));
    let values = values.collect::<Result<Vec<ArrayRef>>>()?;
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    let Numbers { elements, mut numbers, equals } = Numbers::of(&concat(&values)?)?;
    for row in 0..arrays.first().map_or(0, |array| array.len()) {
        let mut chosen: HashMap<usize, usize> = HashMap::new();
        if instead == IntervalFunction::Second
            && let [_, Some(second), ..] = arguments.as_slice()
            && let Some(number) = numbers[second.range(row).start]
        {
            chosen.insert(equals[number], number);
        }
        for lists in arguments.iter().flatten().filter(|found| found.offsets.is_some()) {
            for number in numbers[lists.range(row)].iter_mut().flatten() {
                match instead {
                    IntervalFunction::First => *number = *chosen.entry(equals[*number]).or_insert(*number),
                    _ => *number = chosen.get(&equals[*number]).copied().unwrap_or(*number),
                }
            }
        }
    }
    let of_argument = |(array, found): (&ArrayRef, Option<Elements>)| {
        let Some(Elements { start, offsets, values }) = found else { return Ok(Arc::clone(array)) };
        let numbers = numbers[start..start + values.len()].iter().map(|number| number.map(|number| number as i64));
        let numbers: ArrayRef = Arc::new(numbers.collect::<Int64Array>());
        if offsets.is_some() { with_elements(array.as_list(), numbers) } else { Ok(numbers) }
    };
    let arrays = arrays.iter().zip(arguments).map(of_argument).collect::<Result<Vec<_>>>()?;
    Ok((arrays, elements))
}

/// Lists without elements of other rows: a slice shares those of the array that it was cut from.
fn compact(array: &ArrayRef) -> Result<ArrayRef> {
    let (Some(lists), DataType::List(item)) = (array.as_list_opt::<i32>(), array.data_type()) else { return Ok(Arc::clone(array)) };
    let (first, last) = (lists.offsets()[0], lists.offsets()[lists.len()]);
    let offsets: ScalarBuffer<i32> = lists.offsets().iter().map(|offset| offset - first).collect();
    let values = lists.values().slice(first as usize, (last - first) as usize);
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), OffsetBuffer::new(offsets), values, lists.nulls().cloned())?))
}

/// The results of a function of numbers, with each number replaced by its element.
fn elements_of(made: &ArrayRef, elements: &ArrayRef) -> Result<ArrayRef> {
    match made.as_list_opt::<i32>() {
        Some(lists) => with_elements(lists, take(elements, lists.values(), None)?),
        // The result for a NULL in place of a list.
        None if made.data_type().is_null() => Ok(Arc::clone(made)),
        None => Ok(take(elements, made, None)?),
    }
}

fn with_elements(lists: &ListArray, elements: ArrayRef) -> Result<ArrayRef> {
    match with_field(lists.data_type(), 0, elements.data_type().clone()) {
        DataType::List(item) => Ok(Arc::new(ListArray::try_new(item, lists.offsets().clone(), elements, lists.nulls().cloned())?)),
        other => exec_err!("{other} is no type of lists"),
    }
}

/// The numbers of elements.
struct Numbers {
    /// Indexed by number. NULL has no number.
    elements: ArrayRef,
    numbers: Vec<Option<usize>>,
    /// Indexed by number: the least number of an equal element.
    equals: Vec<usize>,
}

impl Numbers {
    fn of(elements: &ArrayRef) -> Result<Numbers> {
        let (order, by_length) = (exact_comparator(elements, elements)?, comparator(elements, elements)?);
        let nulls = elements.logical_nulls();
        let is_valid = |place: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*place));
        let mut places: Vec<usize> = (0..elements.len()).filter(is_valid).collect();
        places.sort_unstable_by(|left, right| order(*left, *right));
        let mut numbers = vec![None; elements.len()];
        let mut equals: Vec<usize> = Vec::with_capacity(places.len());
        for (number, place) in places.iter().enumerate() {
            numbers[*place] = Some(number);
            let is_new = number == 0 || by_length(places[number - 1], *place).is_ne();
            let least = if is_new { number } else { equals[number - 1] };
            equals.push(least);
        }
        let places: UInt64Array = places.into_iter().map(|place| place as u64).collect::<Vec<_>>().into();
        Ok(Numbers { elements: take(elements, &places, None)?, numbers, equals })
    }
}
