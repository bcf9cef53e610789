//! Lists as lists of a fixed size, and lists of lists as tensors.
//!
//! Arrow 59.3's own cast reads the first values of an array even if its offsets do not begin at 0. In a table that is so for every zone
//! but the first: wrong values without an error.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, FixedSizeListArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result};

use super::list_bounds::{ListBounds, end_to_end, list_levels};
use crate::functions::casts::cast_shown;
use common::error::EngineError;
use common::tensor_shape::{shape_of, shape_text};
use common::type_names::column_type_name;

/// The target type of lists.
pub struct FixedLists<'a> {
    field: &'a Field,
    item: &'a FieldRef,
    width: i32,
    /// The shape that lists of lists must have.
    shape: Vec<usize>,
    /// Whether a list that does not fit becomes NULL instead of an error.
    safe: bool,
}

impl<'a> FixedLists<'a> {
    /// `None` if the field is not a list of a fixed size.
    pub fn new(field: &'a Field, safe: bool) -> Option<FixedLists<'a>> {
        let DataType::FixedSizeList(item, width) = field.data_type() else { return None };
        let shape = shape_of(field).unwrap_or_else(|| vec![usize::try_from(*width).unwrap_or_default()]);
        Some(FixedLists { field, item, width: *width, shape, safe })
    }

    /// Lists of any kind; NULL stays NULL.
    ///
    /// # Errors
    ///
    /// A list has another number of elements, or nested lists do not have the shape (the message has both shapes); or an element does not
    /// fit the target type.
    pub fn convert(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        // Elements that are lists are not flattened.
        let levels = if self.item.data_type().is_list() { 1 } else { list_levels(lists.data_type()) };
        let sizes = match levels {
            1 => vec![usize::try_from(self.width).unwrap_or_default()],
            _ if levels == self.shape.len() => self.shape.clone(),
            _ => {
                let message = format!("lists within each other, {levels} deep, cannot be a {}", column_type_name(self.field));
                return Err(self.refused(message));
            }
        };
        let (values, valid) = self.level(lists, &sizes, usize::from(levels > 1))?;
        let values = cast_shown(&values, &Field::new("", values.data_type().clone(), true), self.item, self.safe)?;
        Ok(Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(self.item), self.width, values, valid, lists.len())?))
    }

    /// The innermost values end to end, each row with as many as `sizes` say, and which rows are lists that fit. `dimension` of the shape,
    /// from 1, is that of the lists; 0 if they have all elements.
    fn level(&self, lists: &ArrayRef, sizes: &[usize], dimension: usize) -> Result<(ArrayRef, Option<NullBuffer>)> {
        let Some((size, inner_sizes)) = sizes.split_first() else { return Ok((Arc::clone(lists), lists.nulls().cloned())) };
        let rows = ListBounds::of(lists)?;
        let mut valid = Vec::with_capacity(lists.len());
        for row in 0..lists.len() {
            let found = rows.end(row) - rows.start(row);
            if lists.is_valid(row) && found != *size && !self.safe {
                return Err(self.wrong_size(found, *size, dimension));
            }
            valid.push(lists.is_valid(row) && found == *size);
        }
        let values = end_to_end(&rows, &valid, *size)?;
        if inner_sizes.is_empty() {
            return Ok((values, nulls_of(valid)));
        }
        let (values, inner_valid) = self.level(&values, inner_sizes, dimension + 1)?;
        if let Some(inner_valid) = inner_valid {
            for (row, is_valid) in valid.iter_mut().enumerate().filter(|(_, is_valid)| **is_valid) {
                let has_null = (row * size..(row + 1) * size).any(|inner| inner_valid.is_null(inner));
                if has_null && !self.safe {
                    let message = format!("a NULL stands in the place of a list, which {} cannot have", column_type_name(self.field));
                    return Err(self.refused(message));
                }
                *is_valid = !has_null;
            }
        }
        Ok((values, nulls_of(valid)))
    }

    fn wrong_size(&self, found: usize, size: usize, dimension: usize) -> DataFusionError {
        let name = column_type_name(self.field);
        self.refused(match dimension {
            0 if self.shape.len() > 1 => {
                format!("a list of {found} elements cannot be a {name}, which has {size}: {}", shape_text(&self.shape))
            }
            0 => format!("a list of {found} elements cannot be a {name}, which has {size}"),
            _ => format!("a list of {found} is there where {name} has {size} in dimension {dimension}"),
        })
    }

    fn refused(&self, message: String) -> DataFusionError {
        let hint = (self.shape.len() > 1).then(|| {
            let rows = "give all elements as one list, row by row, or a list of rows, each with as many elements as the shape says";
            rows.to_string()
        });
        EngineError::data(message, hint).into_datafusion()
    }
}

fn nulls_of(valid: Vec<bool>) -> Option<NullBuffer> {
    valid.contains(&false).then(|| NullBuffer::from(valid))
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Float64Array, ListArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{Float64Type, Int32Type};

    use super::*;
    use common::tensors::tensor_field;

    fn lists(rows: Vec<Option<Vec<Option<f64>>>>) -> ListArray {
        ListArray::from_iter_primitive::<Float64Type, _, _>(rows)
    }

    fn vectors(width: i32) -> Field {
        Field::new("v", DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Float64, true)), width), true)
    }

    fn converted(lists: &ArrayRef, field: &Field, safe: bool) -> Result<Vec<Option<Vec<Option<f64>>>>, String> {
        let made = FixedLists::new(field, safe).unwrap().convert(lists).map_err(|error| error.to_string())?;
        assert_eq!((made.data_type(), made.len()), (field.data_type(), lists.len()));
        let made = made.as_fixed_size_list();
        Ok((0..made.len()).map(|row| made.is_valid(row).then(|| made.value(row).as_primitive::<Float64Type>().iter().collect())).collect())
    }

    fn row(values: &[f64]) -> Option<Vec<Option<f64>>> {
        Some(values.iter().map(|value| Some(*value)).collect())
    }

    #[test]
    fn every_slice_of_lists_keeps_its_own_values() {
        let rows = vec![row(&[1.0, 2.0]), row(&[3.0, 4.0]), None, row(&[5.0, 6.0]), Some(vec![None, Some(8.0)])];
        let array = lists(rows.clone());
        for start in 0..=rows.len() {
            for len in 0..=rows.len() - start {
                let slice: ArrayRef = Arc::new(array.slice(start, len));
                assert_eq!(converted(&slice, &vectors(2), false).unwrap(), rows[start..start + len].to_vec(), "{start} {len}");
            }
        }
    }

    #[test]
    fn lists_that_lie_end_to_end_are_not_copied() {
        let array: ArrayRef = Arc::new(lists(vec![row(&[1.0, 2.0]), row(&[3.0, 4.0]), row(&[5.0, 6.0])]).slice(1, 2));
        let made = FixedLists::new(&vectors(2), false).unwrap().convert(&array).unwrap();
        let place = |values: &ArrayRef| values.as_primitive::<Float64Type>().values().as_ptr();
        assert_eq!(place(made.as_fixed_size_list().values()), place(&array.as_list::<i32>().value(0)));
    }

    #[test]
    fn values_of_a_null_row_are_passed_over() {
        // The second list is NULL and yet has values behind it, and not as many as the others.
        let values = Arc::new(Float64Array::from(vec![1.0, 2.0, 9.0, 3.0, 4.0]));
        let offsets = OffsetBuffer::new(vec![0, 2, 3, 5].into());
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let array: ArrayRef = Arc::new(ListArray::new(item, offsets, values, Some(nulls)));
        assert_eq!(converted(&array, &vectors(2), false).unwrap(), vec![row(&[1.0, 2.0]), None, row(&[3.0, 4.0])]);
    }

    #[test]
    fn a_list_of_another_size_is_an_error_with_both_or_null_where_that_is_asked_for() {
        let array: ArrayRef = Arc::new(lists(vec![row(&[1.0, 2.0]), row(&[3.0]), row(&[4.0, 5.0])]));
        let error = converted(&array, &vectors(2), false).unwrap_err();
        assert!(error.contains("a list of 1 elements cannot be a DOUBLE[2], which has 2"), "{error}");
        assert_eq!(converted(&array, &vectors(2), true).unwrap(), vec![row(&[1.0, 2.0]), None, row(&[4.0, 5.0])]);
    }

    /// Rows of rows of numbers.
    fn nested(rows: &[&[&[i32]]]) -> ArrayRef {
        let inner: Vec<Option<Vec<Option<i32>>>> =
            rows.iter().flat_map(|row| row.iter().map(|list| Some(list.iter().map(|value| Some(*value)).collect()))).collect();
        let inner = ListArray::from_iter_primitive::<Int32Type, _, _>(inner);
        let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(rows.iter().map(|row| row.len())), Arc::new(inner), None))
    }

    #[test]
    fn lists_of_rows_become_a_tensor_row_by_row() {
        let field = tensor_field("a", DataType::Float64, &[2, 3], true).unwrap();
        let array = nested(&[&[&[1, 2, 3], &[4, 5, 6]], &[&[7, 8, 9], &[10, 11, 12]]]);
        let expected = vec![row(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), row(&[7.0, 8.0, 9.0, 10.0, 11.0, 12.0])];
        assert_eq!(converted(&array, &field, false).unwrap(), expected);
        assert_eq!(converted(&array.slice(1, 1), &field, false).unwrap(), expected[1..].to_vec());
    }

    #[test]
    fn rows_of_another_shape_say_which_dimension_is_wrong() {
        let field = tensor_field("a", DataType::Float64, &[2, 3], true).unwrap();
        for (array, words) in [
            (nested(&[&[&[1, 2, 3]]]), "a list of 1 is there where TENSOR(DOUBLE, 2, 3) has 2 in dimension 1"),
            (nested(&[&[&[1, 2, 3], &[4, 5]]]), "a list of 2 is there where TENSOR(DOUBLE, 2, 3) has 3 in dimension 2"),
        ] {
            let error = converted(&array, &field, false).unwrap_err();
            assert!(error.contains(words), "{error}");
            assert_eq!(converted(&array, &field, true).unwrap(), vec![None]);
        }
        let flat: ArrayRef = Arc::new(lists(vec![row(&[1.0, 2.0])]));
        let error = converted(&flat, &field, false).unwrap_err();
        assert!(error.contains("a list of 2 elements cannot be a TENSOR(DOUBLE, 2, 3), which has 6: 2×3"), "{error}");
        let error = converted(&nested(&[&[&[1, 2]]]), &vectors(2), false).unwrap_err();
        assert!(error.contains("lists within each other, 2 deep, cannot be a DOUBLE[2]"), "{error}");
    }
}
