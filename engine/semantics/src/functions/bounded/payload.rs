//! The bytes of values: of the rows that an array shows, not of its buffers.

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, make_array};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

/// Numbers in lists count with at least this size, because functions may widen them.
const ELEMENT_BYTES: usize = 8;

/// The bytes of `length` values from `start`.
pub fn values_bytes(array: &dyn Array, start: usize, length: usize) -> usize {
    match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets(), start, length),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets(), start, length),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets(), start, length),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets(), start, length),
        DataType::Utf8View => viewed(&array.as_string_view().views()[start..start + length]),
        DataType::BinaryView => viewed(&array.as_binary_view().views()[start..start + length]),
        DataType::List(_) => listed(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values(), start, length),
        DataType::LargeList(_) => listed(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values(), start, length),
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: &dyn Array = map.entries();
            let (first, last) = (map.value_offsets()[start] as usize, map.value_offsets()[start + length] as usize);
            values_bytes(entries, first, last - first) + ELEMENT_BYTES * length
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or_default();
            values_bytes(array.as_fixed_size_list().values(), start * size, length * size)
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| values_bytes(column, start, length)).sum(),
        DataType::Dictionary(..) => {
            let shown = array.slice(start, length);
            let dictionary = shown.as_any_dictionary();
            let values = dictionary.values();
            if values.is_empty() {
                return 0;
            }
            dictionary.normalized_keys().iter().map(|key| values_bytes(values, *key, 1)).fold(0, usize::saturating_add)
        }
        // Counts the longest value for each row, because the boundaries of the runs are not searched.
        DataType::RunEndEncoded(_, values) if !values.data_type().is_primitive() => {
            let data = array.to_data();
            let Some(values) = data.child_data().get(1).map(|values| make_array(values.clone())) else { return 0 };
            let longest = (0..values.len()).map(|value| values_bytes(&values, value, 1)).max();
            longest.unwrap_or(0).saturating_mul(length)
        }
        data_type => length * data_type.primitive_width().unwrap_or(ELEMENT_BYTES).max(ELEMENT_BYTES),
    }
}

fn between<O: OffsetSizeTrait>(offsets: &[O], start: usize, length: usize) -> usize {
    offsets[start + length].as_usize() - offsets[start].as_usize()
}

fn viewed(views: &[u128]) -> usize {
    // The length is the lowest part of a view.
    views.iter().map(|view| *view as u32 as usize).sum()
}

fn listed<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef, start: usize, length: usize) -> usize {
    let (first, last) = (offsets[start].as_usize(), offsets[start + length].as_usize());
    values_bytes(values, first, last - first) + ELEMENT_BYTES * length
}

pub fn scalar_bytes(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => text.as_ref().map_or(0, String::len),
        ScalarValue::Binary(bytes) | ScalarValue::LargeBinary(bytes) | ScalarValue::BinaryView(bytes) => bytes.as_ref().map_or(0, Vec::len),
        ScalarValue::List(array) => values_bytes(array.as_ref(), 0, array.len()),
        ScalarValue::LargeList(array) => values_bytes(array.as_ref(), 0, array.len()),
        ScalarValue::FixedSizeList(array) => values_bytes(array.as_ref(), 0, array.len()),
        ScalarValue::Struct(array) => values_bytes(array.as_ref(), 0, array.len()),
        ScalarValue::Map(array) => values_bytes(array.as_ref(), 0, array.len()),
        ScalarValue::Dictionary(_, value) | ScalarValue::RunEndEncoded(_, _, value) => scalar_bytes(value),
        _ => 2 * ELEMENT_BYTES,
    }
}

/// An argument of a call of so many rows.
pub struct Argument<'a>(pub &'a ColumnarValue);

impl Argument<'_> {
    pub fn bytes_at(&self, row: usize) -> usize {
        match self.0 {
            ColumnarValue::Array(array) => values_bytes(array, row, 1),
            ColumnarValue::Scalar(value) => scalar_bytes(value),
        }
    }

    pub fn bytes(&self, rows: usize) -> usize {
        match self.0 {
            ColumnarValue::Array(array) => values_bytes(array, 0, array.len().min(rows)),
            ColumnarValue::Scalar(value) => scalar_bytes(value).saturating_mul(rows),
        }
    }

    /// A whole number; `None` for NULL.
    pub fn number_at(&self, row: usize) -> Option<i128> {
        let value = match self.0 {
            ColumnarValue::Array(array) if array.data_type().is_integer() => ScalarValue::try_from_array(array, row).ok()?,
            ColumnarValue::Array(_) => return None,
            ColumnarValue::Scalar(value) => value.clone(),
        };
        match value {
            ScalarValue::Int8(value) => value.map(i128::from),
            ScalarValue::Int16(value) => value.map(i128::from),
            ScalarValue::Int32(value) => value.map(i128::from),
            ScalarValue::Int64(value) => value.map(i128::from),
            ScalarValue::UInt8(value) => value.map(i128::from),
            ScalarValue::UInt16(value) => value.map(i128::from),
            ScalarValue::UInt32(value) => value.map(i128::from),
            ScalarValue::UInt64(value) => value.map(i128::from),
            _ => None,
        }
    }

    pub fn value_at(&self, row: usize) -> Option<ScalarValue> {
        match self.0 {
            ColumnarValue::Array(array) => ScalarValue::try_from_array(array, row).ok(),
            ColumnarValue::Scalar(value) => Some(value.clone()),
        }
    }

    /// How many elements the list at `row` has; 0 if it is not a list.
    pub fn elements_at(&self, row: usize) -> usize {
        let of = |array: &dyn Array, row: usize| match array.data_type() {
            DataType::List(_) => array.as_list::<i32>().value_length(row) as usize,
            DataType::LargeList(_) => array.as_list::<i64>().value_length(row) as usize,
            DataType::FixedSizeList(_, size) => *size as usize,
            _ => 0,
        };
        match self.0 {
            ColumnarValue::Array(array) => of(array, row),
            ColumnarValue::Scalar(ScalarValue::List(array)) => of(array.as_ref(), 0),
            ColumnarValue::Scalar(ScalarValue::LargeList(array)) => of(array.as_ref(), 0),
            ColumnarValue::Scalar(ScalarValue::FixedSizeList(array)) => of(array.as_ref(), 0),
            ColumnarValue::Scalar(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, ListArray, StringArray, StringViewArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn slices_are_of_their_own_rows_alone() {
        let long = "x".repeat(100);
        let texts = [long.as_str(), "ab", "c"];
        let arrays: [ArrayRef; 2] = [Arc::new(StringArray::from_iter_values(texts)), Arc::new(StringViewArray::from_iter_values(texts))];
        for array in arrays {
            assert_eq!(values_bytes(&array, 0, 3), 103);
            assert_eq!(values_bytes(&array.slice(1, 2), 0, 2), 3);
        }
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1); 10]), None, Some(vec![Some(2)])]);
        assert_eq!(values_bytes(&lists, 0, 3), 11 * 8 + 3 * 8);
        assert_eq!(values_bytes(&lists.slice(1, 2), 0, 2), 8 + 2 * 8);
        let argument = ColumnarValue::Array(Arc::new(lists));
        assert_eq!((0..3).map(|row| Argument(&argument).elements_at(row)).collect::<Vec<_>>(), [10, 0, 1]);
    }

    #[test]
    fn constants_count_for_each_row() {
        let text = ColumnarValue::Scalar(ScalarValue::from("abc"));
        assert_eq!((Argument(&text).bytes(5), Argument(&text).bytes_at(3)), (15, 3));
        let numbers = ColumnarValue::Array(Arc::new(Int64Array::from(vec![Some(7), None])));
        assert_eq!([Argument(&numbers).number_at(0), Argument(&numbers).number_at(1)], [Some(7), None]);
    }
}
