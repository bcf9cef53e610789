//! The shape of a tensor is a part of its column's type.

use arrow::datatypes::{Field, Schema};

use common::error::EngineError;
use common::tensor_shape::shape_of;
use common::type_names::column_type_name;

pub fn check_shapes(table: &Schema, rows: &Schema) -> Result<(), EngineError> {
    table.fields().iter().zip(rows.fields()).try_for_each(|(field, source)| check_shape(field, source))
}

/// Tensors with the same number of elements have the same storage type, but a different meaning.
pub fn check_shape(field: &Field, source: &Field) -> Result<(), EngineError> {
    if shape_of(field).zip(shape_of(source)).is_none_or(|(one, other)| one == other) {
        return Ok(());
    }
    let (name, type_name) = (field.name(), column_type_name(field));
    let message = format!("a {} cannot go into column \"{name}\", which is a {type_name}", column_type_name(source));
    let hint = Some(format!("CAST(… AS {type_name}) gives the same elements the other shape"));
    Err(EngineError::Sql { message, position: None, hint })
}
