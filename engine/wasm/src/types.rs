//! The types that modules get.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};

use super::error::WasmError;
use super::to_guest::fixed_width;

pub fn guest_field(field: &FieldRef) -> Result<FieldRef, WasmError> {
    Ok(Arc::new(field.as_ref().clone().with_data_type(guest_type(field.data_type())?).with_nullable(true)))
}

/// Texts and bytes without views, which Arrow's C data interface for modules need not know; dictionaries as their values.
pub fn guest_type(data_type: &DataType) -> Result<DataType, WasmError> {
    let of = |field: &FieldRef| -> Result<FieldRef, WasmError> {
        Ok(Arc::new(field.as_ref().clone().with_data_type(guest_type(field.data_type())?)))
    };
    Ok(match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => guest_type(values)?,
        DataType::List(field) => DataType::List(of(field)?),
        DataType::LargeList(field) => DataType::LargeList(of(field)?),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(of(field)?, *size),
        DataType::Map(field, is_sorted) => DataType::Map(of(field)?, *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect::<Result<_, _>>()?),
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
            data_type.clone()
        }
        other => {
            fixed_width(other)?;
            other.clone()
        }
    })
}

pub fn as_type(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, WasmError> {
    if column.data_type() == data_type { Ok(Arc::clone(column)) } else { Ok(cast(column, data_type)?) }
}
