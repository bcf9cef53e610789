//! Helpers for nested types.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};

/// The fields inside of a list, struct or map.
pub fn fields_of(data_type: &DataType) -> &[FieldRef] {
    use DataType::*;
    match data_type {
        List(field) | LargeList(field) | ListView(field) | LargeListView(field) => std::slice::from_ref(field),
        FixedSizeList(field, _) | Map(field, _) => std::slice::from_ref(field),
        Struct(fields) => fields,
        _ => &[],
    }
}

pub fn with_field(data_type: &DataType, place: usize, inner: DataType) -> DataType {
    use DataType::*;
    let with = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(inner.clone()));
    match data_type {
        List(field) => List(with(field)),
        LargeList(field) => LargeList(with(field)),
        ListView(field) => ListView(with(field)),
        LargeListView(field) => LargeListView(with(field)),
        FixedSizeList(field, size) => FixedSizeList(with(field), *size),
        Map(field, sorted) => Map(with(field), *sorted),
        Struct(fields) => {
            let field = |(index, field): (usize, &FieldRef)| if index == place { with(field) } else { Arc::clone(field) };
            Struct(fields.iter().enumerate().map(field).collect::<Fields>())
        }
        other => other.clone(),
    }
}

/// The type of an untyped NULL where a map is needed.
pub fn map_of_nulls(key: DataType) -> DataType {
    let (key, value) = (Field::new("key", key, false), Field::new("value", DataType::Null, true));
    Field::new_map("", "entries", key, value, false, true).data_type().clone()
}
