//! Types of arguments: coercions, and errors for types that are not supported.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;

use common::messages::counted;
use common::tensors::{Vectors, refused};
use common::type_names::declared_name;

/// The list with elements of DOUBLE, for lists of other numbers: `[1.0, 2]` is a list of decimals. Others stay as they
/// are, and [`check_vector_type`] refuses them with a better message than a failed coercion has.
pub fn as_vector_type(data_type: &DataType) -> DataType {
    let doubles = || Arc::new(Field::new_list_field(DataType::Float64, true));
    let converts = |element: &Field| {
        let element = element.data_type();
        element.is_null() || element.is_integer() || element.is_decimal() || *element == DataType::Float16
    };
    match data_type {
        DataType::Null => DataType::List(doubles()),
        DataType::List(element) if converts(element) => DataType::List(doubles()),
        DataType::LargeList(element) if converts(element) => DataType::LargeList(doubles()),
        DataType::FixedSizeList(element, width) if converts(element) => DataType::FixedSizeList(doubles(), *width),
        other => other.clone(),
    }
}

pub fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_null()
}

/// DOUBLE for any number; others stay as they are.
pub fn as_number_type(data_type: &DataType) -> DataType {
    if is_number(data_type) { DataType::Float64 } else { data_type.clone() }
}

pub fn check_count(function: &str, fields: &[FieldRef], takes: &str, counts: &[usize]) -> Result<()> {
    match counts.contains(&fields.len()) {
        true => Ok(()),
        false => Err(refused(format!("{function} takes {takes}, and was given {}", counted(fields.len(), "argument")), None)),
    }
}

pub fn check_vector_type(function: &str, data_type: &DataType) -> Result<()> {
    if matches!(Vectors::element(data_type), Some(DataType::Float64 | DataType::Float32)) {
        return Ok(());
    }
    let message = format!("{function} takes vectors, lists of DOUBLE or REAL, and not {}", declared_name(data_type));
    Err(refused(message, None))
}

pub fn check_number_type(function: &str, what: &str, data_type: &DataType) -> Result<()> {
    match is_number(data_type) {
        true => Ok(()),
        false => Err(refused(format!("{what} of {function} is a number, and not {}", declared_name(data_type)), None)),
    }
}
