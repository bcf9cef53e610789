//! The types that modules get.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use common::user_functions::plain_type;

use super::error::WasmError;
use super::to_guest::fixed_width;

pub fn guest_field(field: &FieldRef) -> Result<FieldRef, WasmError> {
    Ok(Arc::new(field.as_ref().clone().with_data_type(guest_type(field.data_type())?).with_nullable(true)))
}

/// # Errors
///
/// The interface of modules has no layout for the type.
pub fn guest_type(data_type: &DataType) -> Result<DataType, WasmError> {
    let plain = plain_type(data_type);
    check(&plain)?;
    Ok(plain)
}

fn check(data_type: &DataType) -> Result<(), WasmError> {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            check(field.data_type())
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check(field.data_type())),
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => Ok(()),
        other => fixed_width(other).map(drop),
    }
}
