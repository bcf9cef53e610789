//! Builds columns of system tables.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, ListBuilder, RecordBatch, RecordBatchOptions, StringArray, StringBuilder, TimestampNanosecondArray,
};
use datafusion::common::Result;

/// Name, values, and whether it is nullable.
pub type Column = (&'static str, ArrayRef, bool);

pub const REQUIRED: bool = false;
pub const OPTIONAL: bool = true;

pub fn batch(columns: Vec<Column>) -> Result<RecordBatch> {
    let rows = columns.first().map_or(0, |(_, values, _)| values.len());
    let fields = columns.iter().map(|(name, values, nullable)| arrow::datatypes::Field::new(*name, values.data_type().clone(), *nullable));
    let schema = Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, values, _)| values).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}

pub fn texts<T: AsRef<str>>(values: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

/// Numbers and sizes as BIGINT, which every client knows.
pub fn numbers(values: impl IntoIterator<Item = Option<u64>>) -> ArrayRef {
    let values = values.into_iter().map(|value| value.map(|value| i64::try_from(value).unwrap_or(i64::MAX)));
    Arc::new(values.collect::<Int64Array>())
}

pub fn booleans(values: impl IntoIterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<BooleanArray>())
}

/// Times in milliseconds since 1970 as TIMESTAMP WITH TIME ZONE.
pub fn instants(values: impl IntoIterator<Item = Option<u64>>) -> ArrayRef {
    let nanos = |time_ms: u64| i64::try_from(time_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    let values = values.into_iter().map(|value| value.map(nanos));
    Arc::new(values.collect::<TimestampNanosecondArray>().with_timezone("UTC"))
}

pub fn lists<'a>(values: impl IntoIterator<Item = &'a [String]>) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for list in values {
        list.iter().for_each(|text| lists.values().append_value(text));
        lists.append(true);
    }
    Arc::new(lists.finish())
}
