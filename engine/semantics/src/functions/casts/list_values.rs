//! Refuses casts between lists and other values: Arrow would take the only element of a list for the list, and make a list of a value.

use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;

use common::error::EngineError;
use common::type_names::column_type_name;

/// An error if a list is cast to a value or a value to a list.
pub fn check_lists(from: &Field, to: &Field) -> Result<()> {
    let hint = if is_value_as_list(from.data_type(), to.data_type()) {
        format!("write [x] for a list of one {}", column_type_name(from))
    } else if from.data_type().is_list() && (to.data_type().is_primitive() || *to.data_type() == DataType::Boolean) {
        "x[1] is its first element".to_string()
    } else {
        return Ok(());
    };
    let message = format!("a {} is no {}", column_type_name(from), column_type_name(to));
    Err(EngineError::Sql { message, position: None, hint: Some(hint) }.into_datafusion())
}

fn is_value_as_list(from: &DataType, to: &DataType) -> bool {
    let has_elements = from.is_list() || from.is_string() || from.is_binary() || from.is_null();
    let is_encoded = matches!(from, DataType::Dictionary(..) | DataType::RunEndEncoded(..) | DataType::FixedSizeBinary(_));
    to.is_list() && !has_elements && !is_encoded
}
