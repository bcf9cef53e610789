//! Matrices in SQL: lists of lists of numbers.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue};

use common::messages::counted;
use common::tensors::refused;
use common::type_names::declared_name;
use semantics::functions::cast_nearest;

/// One row of a column of lists of lists of numbers: its values row by row, the number of lists, and the numbers in each. Lists
/// of different lengths, an empty list and NULLs are errors.
pub fn matrix_of_lists(array: &dyn Array, row: usize, function: &str) -> Result<(Vec<f64>, usize, usize)> {
    let lists = list_in(array, row, function)?;
    let mut values = Vec::new();
    let mut width = None;
    for at in 0..lists.len() {
        let numbers = list_in(&lists, at, function)?;
        let expected = *width.get_or_insert(numbers.len());
        if numbers.len() != expected {
            let found = format!("list {} has {} where the first has {expected}", at + 1, counted(numbers.len(), "number"));
            return Err(refused(format!("{function} takes lists of one length, and {found}"), None));
        }
        let numbers = cast_nearest(&numbers, &DataType::Float64, &CastOptions::default())?;
        let numbers = numbers.as_primitive::<Float64Type>();
        if numbers.null_count() > 0 {
            return Err(refused(format!("{function} takes lists of numbers, and list {} has a NULL", at + 1), None));
        }
        values.extend_from_slice(numbers.values());
    }
    match width {
        None | Some(0) => Err(refused(format!("{function} takes a list of lists of numbers, and this one is empty"), None)),
        Some(width) => Ok((values, lists.len(), width)),
    }
}

pub fn matrix_of_scalar(value: &ScalarValue, function: &str) -> Result<(Vec<f64>, usize, usize)> {
    matrix_of_lists(&value.to_array()?, 0, function)
}

fn list_in(array: &dyn Array, row: usize, function: &str) -> Result<ArrayRef> {
    if array.is_null(row) {
        return Err(refused(format!("{function} takes a list of lists of numbers, and not NULL"), None));
    }
    match array.data_type() {
        DataType::List(_) => Ok(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Ok(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Ok(array.as_fixed_size_list().value(row)),
        other => Err(refused(format!("{function} takes a list of lists of numbers, and not {}", declared_name(other)), None)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, ListArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{Field, FieldRef};

    use super::*;

    fn item() -> FieldRef {
        Arc::new(Field::new_list_field(DataType::Float64, true))
    }

    #[test]
    fn lists_of_lists_of_one_length_are_a_matrix() {
        let values = Arc::new(Float64Array::from_iter_values((0..7).map(f64::from)));
        let inner = ListArray::new(item(), OffsetBuffer::from_lengths([3, 3, 1]), values, None);
        let outer = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
        let lists = ListArray::new(outer, OffsetBuffer::from_lengths([2, 1, 0]), Arc::new(inner), None);
        assert_eq!(matrix_of_lists(&lists, 0, "test").unwrap(), (vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 2, 3));
        assert_eq!(matrix_of_lists(&lists, 1, "test").unwrap(), (vec![6.0], 1, 1));
        assert!(matrix_of_lists(&lists, 2, "test").is_err());
    }
}
