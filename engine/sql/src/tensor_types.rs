//! `TENSOR(DOUBLE, 512, 512)`: arrays of numbers with one shape, stored as Arrow's extension type `arrow.fixed_shape_tensor`.

use arrow::datatypes::{DataType, Field};
use datafusion::sql::sqlparser::ast::DataType as SqlType;

use super::fragments::type_of;
use common::error::EngineError;
use common::tensor_shape::{is_element, shape_text};
use common::tensors::tensor_field;
use common::type_names::declared_name;

const NAME: &str = "TENSOR";
const FORM: &str = "write TENSOR(DOUBLE, 512, 512): the type of the elements, then rows, columns and so on";
/// The largest value. Senders cannot exceed it either: Arrow's messages over gRPC have the same limit.
const VALUE_BYTES_MAX: usize = 1 << 31;

/// The unnamed field of a tensor, if the type is one; `element` resolves the element type.
pub fn tensor(
    sql_type: &SqlType,
    element: impl Fn(&SqlType) -> Result<Option<DataType>, EngineError>,
) -> Result<Option<Field>, EngineError> {
    let SqlType::Custom(name, arguments) = sql_type else { return Ok(None) };
    if !name.to_string().eq_ignore_ascii_case(NAME) {
        return Ok(None);
    }
    let words = arguments.iter().take_while(|word| !starts_as_number(word)).cloned().collect::<Vec<_>>();
    let sizes = &arguments[words.len()..];
    if words.is_empty() || sizes.is_empty() {
        return Err(refused(format!("{sql_type} has no {}", if words.is_empty() { "type of elements" } else { "shape" }), FORM));
    }
    let shape = sizes.iter().map(|size| size_of(sql_type, size)).collect::<Result<Vec<_>, _>>()?;
    let said = words.join(" ");
    let data_type = match type_of(&said) {
        Ok(said) => element(&said)?,
        Err(_) => None,
    };
    let data_type = data_type.filter(is_element).ok_or_else(|| {
        let hint = "elements are DOUBLE or REAL, or integers: TINYINT, SMALLINT, INTEGER, BIGINT, each also UNSIGNED";
        refused(format!("{said} is no type of a tensor's elements"), hint)
    })?;
    let width = data_type.primitive_width().unwrap_or(1);
    let bytes = shape.iter().try_fold(width, |bytes, size| bytes.checked_mul(*size));
    if bytes.is_none_or(|bytes| bytes > VALUE_BYTES_MAX) {
        let message = format!(
            "a tensor of {} {} is larger than 2 GiB, which is the most that one value can be",
            shape_text(&shape),
            declared_name(&data_type)
        );
        return Err(refused(message, "divide the matrix into blocks: a table with the columns i, j and block"));
    }
    Ok(Some(tensor_field("", data_type, &shape, true)?))
}

fn starts_as_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || first == '.')
}

fn size_of(sql_type: &SqlType, size: &str) -> Result<usize, EngineError> {
    match size.parse::<usize>() {
        Ok(0) => Err(refused(format!("{sql_type} has no elements"), "each size of the shape is at least 1")),
        Ok(size) => Ok(size),
        Err(_) => Err(refused(format!("{size} in {sql_type} is no size"), FORM)),
    }
}

/// `INTEGER[0]` has no values, and neither DuckDB nor Parquet supports it.
pub fn check_list_size(sql_type: &SqlType, size: u64) -> Result<(), EngineError> {
    match size {
        0 => Err(refused(format!("{sql_type} has no elements"), "the size of a list is at least 1; [] is a list of any size")),
        size if i32::try_from(size).is_err() => {
            Err(refused(format!("{sql_type} has more elements than one value can have, {}", i32::MAX), "use several rows"))
        }
        _ => Ok(()),
    }
}

fn refused(message: String, hint: &str) -> EngineError {
    EngineError::Sql { message, position: None, hint: Some(hint.to_string()) }
}
