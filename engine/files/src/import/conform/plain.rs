//! The types in which batches are handed out.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use common::types::kept_metadata;

/// The type without its encoding: no dictionaries and runs, texts and bytes as views, lists as
/// offset lists, decimals of 128 bits or more. Metadata of foreign writers is left out, except that of tensors.
pub(super) fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) => DataType::Decimal128(*p, *s),
        DataType::Dictionary(_, value) => plain_type(value),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::List(field) | DataType::ListView(field) => DataType::List(plain_field(field)),
        DataType::LargeList(field) | DataType::LargeListView(field) => DataType::LargeList(plain_field(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(plain_field(field), *size),
        DataType::Map(field, is_sorted) => DataType::Map(plain_field(field), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let plain = Field::new(field.name(), plain_type(field.data_type()), field.is_nullable());
    Arc::new(plain.with_metadata(kept_metadata(field)))
}

pub fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(plain_field).collect::<Fields>()))
}

/// Columns without any value in any file are VARCHAR.
pub fn settled_type(data_type: &DataType) -> DataType {
    let settled = |field: &FieldRef| {
        let data_type = settled_type(field.data_type());
        Arc::new(Field::new(field.name(), data_type, field.is_nullable()).with_metadata(field.metadata().clone()))
    };
    match data_type {
        DataType::Null => DataType::Utf8View,
        DataType::List(field) => DataType::List(settled(field)),
        DataType::LargeList(field) => DataType::LargeList(settled(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(settled(field), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(settled).collect()),
        other => other.clone(),
    }
}

pub fn is_list(data_type: &DataType) -> bool {
    element(data_type).is_some()
}

pub(super) fn element(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => Some(field),
        _ => None,
    }
}
