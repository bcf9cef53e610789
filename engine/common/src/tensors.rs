//! Columns of vectors and tensors as slices; `tensor_shape.rs` reads the shapes from their fields.
//!
//! A *vector* is a list of DOUBLE or REAL, of fixed size or ragged. A *tensor* is a list of fixed size whose field carries
//! Arrow's canonical extension `arrow.fixed_shape_tensor`; its elements are in row-major order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{ArrowNativeType, DataType, Field, Float32Type, Float64Type};
use datafusion::common::{DataFusionError, Result};

use crate::error::EngineError;
use crate::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME, TENSOR, elements, shape_text};
use crate::type_names::declared_name;

/// The rows of a vector or tensor column as slices, without a copy.
#[derive(Clone, Copy)]
pub enum Vectors<'a> {
    F64(VectorsOf<'a, f64>),
    F32(VectorsOf<'a, f32>),
}

#[derive(Clone, Copy)]
pub struct VectorsOf<'a, T> {
    values: &'a [T],
    rows: RowBounds<'a>,
    /// `None` if no row is NULL.
    nulls: Option<&'a NullBuffer>,
    /// The validity of the elements; `None` if no element is NULL.
    element_nulls: Option<&'a NullBuffer>,
    len: usize,
}

/// Where rows begin and end among the values.
#[derive(Clone, Copy)]
enum RowBounds<'a> {
    Fixed(usize),
    Offsets(&'a [i32]),
    LargeOffsets(&'a [i64]),
}

impl<'a> Vectors<'a> {
    /// Accepts a list, large list or fixed-size list of DOUBLE or REAL; other types are an error that names the type.
    pub fn of(array: &'a dyn Array, function: &str) -> Result<Vectors<'a>> {
        let (elements, rows) = match array.data_type() {
            DataType::FixedSizeList(_, width) => {
                (array.as_fixed_size_list().values(), RowBounds::Fixed(usize::try_from(*width).unwrap_or_default()))
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (list.values(), RowBounds::Offsets(list.value_offsets()))
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (list.values(), RowBounds::LargeOffsets(list.value_offsets()))
            }
            other => return Err(no_vector(other, function)),
        };
        match elements.data_type() {
            DataType::Float64 => Ok(Vectors::F64(VectorsOf::new::<Float64Type>(array, elements, rows))),
            DataType::Float32 => Ok(Vectors::F32(VectorsOf::new::<Float32Type>(array, elements, rows))),
            _ => Err(no_vector(array.data_type(), function)),
        }
    }

    /// The element type of a list.
    pub fn element(list: &DataType) -> Option<&DataType> {
        match list {
            DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => Some(element.data_type()),
            _ => None,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Vectors::F64(rows) => rows.len(),
            Vectors::F32(rows) => rows.len(),
        }
    }
}

impl<'a, T: ArrowNativeType> VectorsOf<'a, T> {
    fn new<P: ArrowPrimitiveType<Native = T>>(array: &'a dyn Array, elements: &'a ArrayRef, rows: RowBounds<'a>) -> Self {
        VectorsOf {
            values: elements.as_primitive::<P>().values(),
            rows,
            nulls: array.nulls().filter(|nulls| nulls.null_count() > 0),
            element_nulls: elements.nulls().filter(|nulls| nulls.null_count() > 0),
            len: array.len(),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The width of a fixed-size list.
    pub fn width(&self) -> Option<usize> {
        match self.rows {
            RowBounds::Fixed(width) => Some(width),
            _ => None,
        }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    /// `None` for a row that is NULL or has a NULL element.
    pub fn row(&self, row: usize) -> Option<&'a [T]> {
        let bounds = self.bounds(row);
        if self.is_null(row) || self.has_nulls_among(bounds) {
            return None;
        }
        Some(&self.values[bounds.0..bounds.1])
    }

    /// All rows end to end with their width, if no row and no element is NULL and all rows have the same width.
    pub fn dense(&self) -> Option<(&'a [T], usize)> {
        let width = match self.rows {
            RowBounds::Fixed(width) => width,
            _ if self.len == 0 => return None,
            RowBounds::Offsets(offsets) => same_distance(offsets.iter().map(|at| i64::from(*at)))?,
            RowBounds::LargeOffsets(offsets) => same_distance(offsets.iter().copied())?,
        };
        let all = match self.len {
            0 => (0, 0),
            rows => (self.bounds(0).0, self.bounds(rows - 1).1),
        };
        match self.nulls.is_some() || self.has_nulls_among(all) {
            true => None,
            false => Some((&self.values[all.0..all.1], width)),
        }
    }

    fn has_nulls_among(&self, (start, end): (usize, usize)) -> bool {
        self.element_nulls.is_some_and(|nulls| nulls.slice(start, end - start).null_count() > 0)
    }

    fn bounds(&self, row: usize) -> (usize, usize) {
        match self.rows {
            RowBounds::Fixed(width) => (row * width, (row + 1) * width),
            // Arrow's offsets are never negative.
            RowBounds::Offsets(offsets) => (offsets[row] as usize, offsets[row + 1] as usize),
            RowBounds::LargeOffsets(offsets) => (offsets[row] as usize, offsets[row + 1] as usize),
        }
    }
}

/// The difference between consecutive offsets, if it is always the same.
fn same_distance(offsets: impl Iterator<Item = i64> + Clone) -> Option<usize> {
    let mut distances = offsets.clone().zip(offsets.skip(1)).map(|(start, end)| end - start);
    let first = distances.next()?;
    distances.all(|distance| distance == first).then_some(usize::try_from(first).ok()?)
}

fn no_vector(found: &DataType, function: &str) -> DataFusionError {
    let message = format!("{function} takes vectors, lists of DOUBLE or REAL, and not {}", declared_name(found));
    refused(message, Some("CAST(column AS DOUBLE[]) makes a vector of a list of other numbers"))
}

/// The error for bad input of a kernel.
pub fn refused(message: impl Into<String>, hint: Option<&str>) -> DataFusionError {
    EngineError::Execution { message: message.into(), hint: hint.map(str::to_string) }.into_datafusion()
}

/// The storage type of a tensor; more than 2^31 - 1 elements are an error.
pub fn tensor_type(element: DataType, shape: &[usize]) -> Result<DataType> {
    let width = elements(shape).and_then(|elements| i32::try_from(elements).ok()).ok_or_else(|| {
        refused(
            format!("a tensor of {} has more elements than one value can have, {}", shape_text(shape), i32::MAX),
            Some("divide the matrix into blocks: a table with the columns i, j and block"),
        )
    })?;
    Ok(DataType::FixedSizeList(Arc::new(Field::new_list_field(element, true)), width))
}

/// A field of tensors, with the extension's metadata.
pub fn tensor_field(name: &str, element: DataType, shape: &[usize], nullable: bool) -> Result<Field> {
    let shape_json = serde_json::json!({ "shape": shape }).to_string();
    let metadata = [(EXTENSION_NAME.to_string(), TENSOR.to_string()), (EXTENSION_METADATA.to_string(), shape_json)];
    Ok(Field::new(name, tensor_type(element, shape)?, nullable).with_metadata(metadata.into()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{FixedSizeListArray, Float64Array, ListArray};
    use arrow::buffer::OffsetBuffer;

    use super::*;
    use crate::tensor_shape::shape_of;

    fn rows<'a>(array: &'a dyn Array) -> VectorsOf<'a, f64> {
        match Vectors::of(array, "test") {
            Ok(Vectors::F64(rows)) => rows,
            _ => unreachable!("a list of DOUBLE"),
        }
    }

    fn item() -> Arc<Field> {
        Arc::new(Field::new_list_field(DataType::Float64, true))
    }

    /// [0, 1], NULL, [4, NULL], [6, 7]
    fn fixed() -> FixedSizeListArray {
        let values = Float64Array::from(vec![Some(0.0), Some(1.0), None, None, Some(4.0), None, Some(6.0), Some(7.0)]);
        FixedSizeListArray::new(item(), 2, Arc::new(values), Some(NullBuffer::from(vec![true, false, true, true])))
    }

    #[test]
    fn a_row_that_is_null_or_has_a_null_is_no_slice() {
        let array = fixed();
        let vectors = rows(&array);
        assert_eq!((0..4).map(|row| vectors.row(row)).collect::<Vec<_>>(), [Some(&[0.0, 1.0][..]), None, None, Some(&[6.0, 7.0][..])]);
        assert_eq!((0..4).map(|row| vectors.is_null(row)).collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!(vectors.dense(), None);
    }

    #[test]
    fn a_part_of_an_array_is_read_from_where_it_begins() {
        let array = fixed().slice(3, 1);
        assert_eq!(rows(&array).row(0), Some(&[6.0, 7.0][..]));
        assert_eq!(rows(&array).dense(), Some((&[6.0, 7.0][..], 2)));
        let values = Arc::new(Float64Array::from_iter_values((0..9).map(f64::from)));
        let ragged = ListArray::new(item(), OffsetBuffer::from_lengths([2, 3, 2, 2]), values, None);
        assert_eq!(rows(&ragged).dense(), None);
        let even = ragged.slice(2, 2);
        assert_eq!(rows(&even).dense(), Some((&[5.0, 6.0, 7.0, 8.0][..], 2)));
        assert_eq!(rows(&even).row(1), Some(&[7.0, 8.0][..]));
    }

    #[test]
    fn a_field_of_tensors_says_its_shape_unless_it_is_not_row_by_row() {
        let field = tensor_field("block", DataType::Float64, &[2, 3], true).unwrap();
        assert_eq!(shape_of(&field), Some(vec![2, 3]));
        let with = |json: &str| {
            let mut metadata = field.metadata().clone();
            metadata.insert(EXTENSION_METADATA.to_string(), json.to_string());
            shape_of(&field.clone().with_metadata(metadata))
        };
        assert_eq!(with(r#"{"shape":[2,3],"permutation":[0,1]}"#), Some(vec![2, 3]));
        assert_eq!(with(r#"{"shape":[2,3],"permutation":[1,0]}"#), None);
        assert_eq!(with(r#"{"shape":[2,4]}"#), None);
        assert_eq!(with(r#"{"shape":[2,-3]}"#), None);
        assert_eq!(with("no json"), None);
        assert!(tensor_field("block", DataType::Float64, &[1 << 40, 1 << 40], true).is_err());
    }
}
