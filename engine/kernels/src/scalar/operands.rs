//! Arguments of functions of vectors: their rows as slices.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;

use common::tensors::Vectors;

/// An argument. A constant has a single row for all rows of the batch.
pub struct Operand {
    array: ArrayRef,
    is_constant: bool,
}

impl Operand {
    pub fn of(value: &ColumnarValue) -> Result<Operand> {
        Ok(match value {
            ColumnarValue::Array(array) => Operand { array: Arc::clone(array), is_constant: false },
            ColumnarValue::Scalar(value) => Operand { array: value.to_array()?, is_constant: true },
        })
    }

    pub fn array(&self) -> &dyn Array {
        &self.array
    }

    /// The same with lists of this element; REAL becomes DOUBLE if the other argument is. Other types stay.
    pub fn with_elements(&self, element: &DataType) -> Result<Operand> {
        let data_type = self.array.data_type();
        let target_type = match data_type {
            DataType::FixedSizeList(_, width) => DataType::FixedSizeList(Arc::new(Field::new_list_field(element.clone(), true)), *width),
            DataType::List(_) => DataType::List(Arc::new(Field::new_list_field(element.clone(), true))),
            DataType::LargeList(_) => DataType::LargeList(Arc::new(Field::new_list_field(element.clone(), true))),
            other => other.clone(),
        };
        let is_same = Vectors::element(data_type) == Vectors::element(&target_type);
        let array = if is_same { Arc::clone(&self.array) } else { cast(&self.array, &target_type)? };
        Ok(Operand { array, is_constant: self.is_constant })
    }

    /// The row of the array for a row of the batch.
    pub fn at(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }
}

/// Rows of REAL widened to DOUBLE one at a time, if the other argument is DOUBLE: this avoids a copy of the whole column.
pub struct Widened<'a> {
    rows: Vectors<'a>,
    buffer: Vec<f64>,
}

impl<'a> Widened<'a> {
    pub fn new(rows: Vectors<'a>) -> Self {
        Widened { rows, buffer: Vec::new() }
    }

    pub fn row(&mut self, row: usize) -> Option<&[f64]> {
        match self.rows {
            Vectors::F64(rows) => rows.row(row),
            Vectors::F32(rows) => {
                self.buffer.clear();
                self.buffer.extend(rows.row(row)?.iter().map(|value| f64::from(*value)));
                Some(&self.buffer)
            }
        }
    }
}
