//! Declared and physical types. Clients see the declared schema; a segment may store a column in a narrower type, and the scan restores
//! it. Only this file knows the mapping.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal64Type, Decimal128Type, Field, Schema, SchemaRef,
};
use arrow::error::ArrowError;

use pmem_store::segment::TYPE_METADATA;

use crate::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME, TENSOR};

/// The prefix of our own metadata keys.
const OWN_METADATA: &str = "quiver.";
/// The greatest precision that fits eight bytes.
const DECIMAL64_PRECISION_MAX: u8 = 18;

/// The type in which a segment stores values of a declared type.
pub fn physical_type(declared: &DataType) -> DataType {
    match declared {
        // Half the bytes to read; the scan widens them after the filter.
        DataType::Decimal128(precision, scale) if *precision <= DECIMAL64_PRECISION_MAX => DataType::Decimal64(*precision, *scale),
        other => other.clone(),
    }
}

/// The declared type of a table's column for rows of type `data_type`: one type for strings and one for bytes, whatever the producer's
/// layout.
pub fn declared_type(data_type: &DataType) -> DataType {
    use DataType::*;
    let field = |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_data_type(declared_type(field.data_type())));
    match data_type {
        Utf8 | LargeUtf8 => Utf8View,
        Binary | LargeBinary => BinaryView,
        Decimal32(precision, scale) | Decimal64(precision, scale) | Decimal128(precision, scale) | Decimal256(precision, scale)
            if *scale < 0 =>
        {
            whole_numbers(*precision, *scale).unwrap_or_else(|| data_type.clone())
        }
        Decimal32(precision, scale) | Decimal64(precision, scale) => Decimal128(*precision, *scale),
        Dictionary(_, value) => declared_type(value),
        RunEndEncoded(_, values) => declared_type(values.data_type()),
        List(item) | ListView(item) => List(field(item)),
        LargeList(item) | LargeListView(item) => LargeList(field(item)),
        FixedSizeList(item, size) => FixedSizeList(field(item), *size),
        Struct(fields) => Struct(fields.iter().map(field).collect()),
        Map(entries, is_sorted) => Map(with_plain_keys(entries), *is_sorted),
        other => other.clone(),
    }
}

/// The keys of a map are the only strings that are not views, because DataFusion finds no key in a view array.
fn with_plain_keys(entries: &Arc<Field>) -> Arc<Field> {
    match entries.data_type() {
        DataType::Struct(fields) => {
            let fields = fields.iter().enumerate().map(|(index, field)| match field.data_type() {
                DataType::Utf8View | DataType::LargeUtf8 if index == 0 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
                _ => Arc::clone(field),
            });
            Arc::new(entries.as_ref().clone().with_data_type(DataType::Struct(fields.collect())))
        }
        _ => Arc::clone(entries),
    }
}

/// A type without a negative scale that holds the same numbers: DataFusion's comparisons divide by zero if the scale is negative.
fn whole_numbers(precision: u8, scale: i8) -> Option<DataType> {
    match precision.checked_add(scale.unsigned_abs())? {
        digits @ 0..=DECIMAL128_MAX_PRECISION => Some(DataType::Decimal128(digits, 0)),
        digits @ 0..=DECIMAL256_MAX_PRECISION => Some(DataType::Decimal256(digits, 0)),
        _ => None,
    }
}

/// The metadata of incoming rows that a table keeps: that a column holds tensors, and our own keys. The notes of other writers, such as
/// field numbers in their own files, mean nothing here.
pub fn kept_metadata(field: &Field) -> HashMap<String, String> {
    let is_tensor = is_tensor(field);
    // Of a segment's file, whose rows may come in as others do.
    let is_own = |key: &str| key.starts_with(OWN_METADATA) && key != TYPE_METADATA;
    let is_kept = |key: &str| is_own(key) || (is_tensor && [EXTENSION_NAME, EXTENSION_METADATA].contains(&key));
    field.metadata().iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Whatever the order of the tensor's elements.
pub fn is_tensor(field: &Field) -> bool {
    matches!(field.data_type(), DataType::FixedSizeList(..)) && field.metadata().get(EXTENSION_NAME).is_some_and(|name| name == TENSOR)
}

/// The declared schema of a table created from rows of `schema`.
pub fn declared_schema(schema: &Schema) -> Schema {
    let fields = schema
        .fields()
        .iter()
        .map(|field| Field::new(field.name(), declared_type(field.data_type()), field.is_nullable()).with_metadata(kept_metadata(field)));
    Schema::new(fields.collect::<Vec<_>>())
}

pub fn physical_schema(declared: &Schema) -> SchemaRef {
    let fields = declared.fields().iter().map(|field| field.as_ref().clone().with_data_type(physical_type(field.data_type())));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Casts a column, as it was read, to its declared type; returns the array itself if the types are equal.
pub fn restore(array: &ArrayRef, declared: &DataType) -> Result<ArrayRef, ArrowError> {
    match (array.data_type(), declared) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (DataType::Decimal64(_, from), DataType::Decimal128(precision, to)) if from == to => {
            let wide: PrimitiveArray<Decimal128Type> = array.as_primitive::<Decimal64Type>().unary(i128::from);
            Ok(Arc::new(wide.with_precision_and_scale(*precision, *to)?))
        }
        _ => cast(array, declared),
    }
}
