//! Casts lists to lists of lists: a tensor is split along its dimensions, and everything else is refused.
//!
//! Arrow's own cast would make a list of each element: `[[1.0], [2.0]]` of `[1.0, 2.0]`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, ListArray, NullArray, make_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, nullif};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;

use super::list_bounds::{ListBounds, list_levels};
use crate::functions::nearest_floats::cast_nearest;
use common::error::EngineError;
use common::tensor_shape::shape_of;
use common::type_names::column_type_name;

/// The target of lists whose elements are not lists.
pub struct NestedListCast<'a> {
    source: &'a Field,
    field: &'a Field,
    /// Whether a list with elements becomes NULL instead of an error.
    safe: bool,
}

impl<'a> NestedListCast<'a> {
    /// `None` if `source` is not a list, or is as deep as `field`.
    pub fn new(source: &'a Field, field: &'a Field, safe: bool) -> Option<NestedListCast<'a>> {
        let levels = list_levels(source.data_type());
        (levels > 0 && list_levels(field.data_type()) > levels).then_some(NestedListCast { source, field, safe })
    }

    /// Lists of the source's type; NULL stays NULL.
    ///
    /// # Errors
    ///
    /// A list has elements and is not a tensor of that many dimensions, or an element does not fit the target type.
    pub fn convert(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        let wanted = self.field.data_type();
        let options = CastOptions { safe: self.safe, ..CastOptions::default() };
        if let DataType::FixedSizeList(_, 0) = lists.data_type() {
            return Ok(cast_nearest(&self.empty(lists)?, wanted, &options)?);
        }
        if let Some(shape) = shape_of(self.source).filter(|shape| shape.len() == list_levels(wanted))
            && let Some(tensors) = lists.as_fixed_size_list_opt()
        {
            return Ok(cast_nearest(&split_dimensions(tensors, &shape)?, wanted, &options)?);
        }
        if !self.safe && has_elements(lists)? {
            let (found, wanted) = (column_type_name(self.source), column_type_name(self.field));
            let message = format!("the elements of a {found} are no lists, as those of a {wanted} are");
            let hint = "give a list of lists, as [[1, 2], [3, 4]]; a tensor becomes one if it has as many dimensions";
            return Err(EngineError::Execution { message, hint: Some(hint.to_string()) }.into_datafusion());
        }
        let made = cast_nearest(&without_elements(lists)?, wanted, &options)?;
        if !self.safe {
            return Ok(made);
        }
        let are_wrong: Vec<bool> = (0..lists.len()).map(|row| has_elements(&lists.slice(row, 1))).collect::<Result<_>>()?;
        Ok(nullif(&made, &BooleanArray::from(are_wrong))?)
    }

    /// Empty lists as lists of size 0; Arrow's cast would divide by that size.
    fn empty(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        if shape_of(self.source).is_some_and(|shape| shape.first() != Some(&0)) {
            let message = format!("a {} has parts without elements, which no list of them tells", column_type_name(self.source));
            let hint = Some("give the lists themselves, as [[], []]".to_string());
            return Err(EngineError::Execution { message, hint }.into_datafusion());
        }
        let item = Arc::new(Field::new_list_field(DataType::Null, true));
        Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::new_zeroed(lists.len()), Arc::new(NullArray::new(0)), lists.nulls().cloned())?))
    }
}

/// Tensors as lists along the first dimension, whose elements are lists along the next one.
fn split_dimensions(tensors: &FixedSizeListArray, shape: &[usize]) -> Result<ArrayRef> {
    let Some((first, inner)) = shape.split_first() else { return Err(EngineError::internal("a tensor has no shape").into()) };
    let mut values = Arc::clone(tensors.values());
    for size in inner.iter().rev() {
        let len = values.len() / size.max(&1);
        values = fixed(values, *size, len, None)?;
    }
    fixed(values, *first, tensors.len(), tensors.nulls().cloned())
}

fn fixed(values: ArrayRef, size: usize, len: usize, nulls: Option<arrow::buffer::NullBuffer>) -> Result<ArrayRef> {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let size = i32::try_from(size).map_err(|_| EngineError::internal("a tensor is larger than a list may be"))?;
    Ok(Arc::new(FixedSizeListArray::try_new_with_length(item, size, values, nulls, len)?))
}

/// The same lists with elements of type Null. These become NULL lists; NULL numbers would become lists of one NULL.
fn without_elements(lists: &ArrayRef) -> Result<ArrayRef> {
    if list_levels(lists.data_type()) == 0 {
        return Ok(Arc::new(NullArray::new(lists.len())));
    }
    let data = lists.to_data();
    let [values] = data.child_data() else { return Err(EngineError::internal("a list has one array of values").into()) };
    let values = without_elements(&make_array(values.clone()))?;
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let data_type = match lists.data_type() {
        DataType::List(_) => DataType::List(item),
        DataType::LargeList(_) => DataType::LargeList(item),
        DataType::ListView(_) => DataType::ListView(item),
        DataType::LargeListView(_) => DataType::LargeListView(item),
        DataType::FixedSizeList(_, size) => DataType::FixedSizeList(item, *size),
        other => return Err(EngineError::internal(format!("{other} is no list")).into()),
    };
    Ok(make_array(data.into_builder().data_type(data_type).child_data(vec![values.to_data()]).build()?))
}

/// Whether one of the lists, at any depth, has an element that is not NULL.
fn has_elements(lists: &ArrayRef) -> Result<bool> {
    if list_levels(lists.data_type()) == 0 {
        return Ok(lists.logical_null_count() < lists.len());
    }
    let rows = ListBounds::of(lists)?;
    for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
        if has_elements(&rows.values(row))? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;
    use arrow::buffer::NullBuffer;
    use arrow::datatypes::Float64Type;
    use arrow::util::pretty::pretty_format_columns;

    use super::*;
    use common::tensors::tensor_field;

    fn list_of(element: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(element, true)))
    }

    fn matrices(element: DataType) -> Field {
        Field::new("w", list_of(list_of(element)), true)
    }

    fn tensors(rows: usize, shape: &[usize], nulls: Option<Vec<bool>>) -> (Field, ArrayRef) {
        let field = tensor_field("a", DataType::Float64, shape, true).unwrap();
        let DataType::FixedSizeList(item, width) = field.data_type() else { unreachable!("a tensor is a list") };
        let values = Float64Array::from_iter_values((0..rows * *width as usize).map(|value| value as f64));
        let lists = FixedSizeListArray::new(Arc::clone(item), *width, Arc::new(values), nulls.map(NullBuffer::from));
        (field, Arc::new(lists))
    }

    /// Each row as a text.
    fn row_texts(array: &ArrayRef) -> Vec<String> {
        let lines = pretty_format_columns("c", &[Arc::clone(array)]).unwrap().to_string();
        let lines: Vec<&str> = lines.lines().collect();
        lines[3..lines.len() - 1].iter().map(|line| line.trim_matches(['|', ' ']).to_string()).collect()
    }

    #[test]
    fn a_tensor_is_a_list_of_its_rows() {
        let (source, lists) = tensors(3, &[2, 3], Some(vec![true, false, true]));
        for element in [DataType::Float64, DataType::Float32] {
            let field = matrices(element);
            let made = NestedListCast::new(&source, &field, false).unwrap().convert(&lists.slice(1, 2)).unwrap();
            assert_eq!(made.data_type(), field.data_type());
            assert_eq!(row_texts(&made), ["", "[[12.0, 13.0, 14.0], [15.0, 16.0, 17.0]]"]);
        }
        let (source, lists) = tensors(1, &[2, 1, 2], None);
        let field = Field::new("w", list_of(list_of(list_of(DataType::Int64))), true);
        let made = NestedListCast::new(&source, &field, false).unwrap().convert(&lists).unwrap();
        assert_eq!(row_texts(&made), ["[[[0, 1]], [[2, 3]]]"]);
    }

    #[test]
    fn elements_do_not_become_lists_of_one() {
        let field = matrices(DataType::Float64);
        let (source, lists) = tensors(1, &[2, 2, 2], None);
        let error = NestedListCast::new(&source, &field, false).unwrap().convert(&lists).unwrap_err().to_string();
        assert!(error.contains("the elements of a TENSOR(DOUBLE, 2, 2, 2) are no lists, as those of a DOUBLE[][] are"), "{error}");
        let rows = [Some(vec![Some(1.0)]), Some(vec![]), None];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
        let source = Field::new("v", lists.data_type().clone(), true);
        let wanted = |safe| NestedListCast::new(&source, &field, safe).unwrap();
        assert!(wanted(false).convert(&lists).unwrap_err().to_string().contains("the elements of a DOUBLE[] are no lists"));
        assert_eq!(row_texts(&wanted(true).convert(&lists).unwrap()), ["", "[]", ""]);
        assert_eq!(row_texts(&wanted(false).convert(&lists.slice(1, 2)).unwrap()), ["[]", ""]);
    }

    #[test]
    fn tensors_without_elements_are_lists_without_elements_or_refused() {
        let field = matrices(DataType::Float64);
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        let values = Arc::new(Float64Array::from(Vec::<f64>::new()));
        let nulls = Some(vec![true, false].into());
        let lists: ArrayRef = Arc::new(FixedSizeListArray::try_new_with_length(item, 0, values, nulls, 2).unwrap());
        let convert = |shape: &[usize]| {
            let source = tensor_field("v", DataType::Float64, shape, true).unwrap();
            NestedListCast::new(&source, &field, false).unwrap().convert(&lists)
        };
        assert_eq!(row_texts(&convert(&[0, 2]).unwrap()), ["[]", ""]);
        assert!(convert(&[2, 0]).unwrap_err().to_string().contains("parts without elements"));
    }

    #[test]
    fn elements_that_are_null_become_lists_that_are_null() {
        let field = matrices(DataType::Float64);
        let rows = [Some(vec![Some(1.0)]), Some(vec![None, None]), None, Some(vec![])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
        let source = Field::new("v", lists.data_type().clone(), true);
        let wanted = |safe| NestedListCast::new(&source, &field, safe).unwrap();
        let made = wanted(false).convert(&lists.slice(1, 3)).unwrap();
        assert_eq!((made.data_type(), row_texts(&made)), (field.data_type(), ["[, ]", "", "[]"].map(str::to_string).to_vec()));
        assert_eq!(row_texts(&wanted(true).convert(&lists).unwrap()), ["", "[, ]", "", "[]"]);
        // Of a fixed size, and deeper.
        let item = Arc::new(Field::new_list_field(lists.data_type().clone(), true));
        let nested: ArrayRef = Arc::new(FixedSizeListArray::new(item, 1, Arc::clone(&lists), None));
        let (source, field) =
            (Field::new("v", nested.data_type().clone(), true), Field::new("w", list_of(field.data_type().clone()), true));
        let made = NestedListCast::new(&source, &field, false).unwrap().convert(&nested.slice(1, 2)).unwrap();
        assert_eq!(row_texts(&made), ["[[, ]]", "[]"]);
    }

    #[test]
    fn lists_that_are_as_deep_are_cast_as_before() {
        let (source, _) = tensors(1, &[2, 2], None);
        assert!(NestedListCast::new(&source, &Field::new("v", list_of(DataType::Float64), true), false).is_none());
        assert!(NestedListCast::new(&Field::new("v", DataType::Float64, true), &source, false).is_none());
    }
}
