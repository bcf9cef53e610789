//! JSON lines: one object per row. NULLs are written out, so that a reader that infers types from the first
//! rows knows a column that is NULL in them.

use std::io::Write;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch, make_array};
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};
use arrow::json::WriterBuilder;
use arrow::json::writer::LineDelimited;

pub(super) struct JsonWriter<W: Write> {
    writer: arrow::json::Writer<W, LineDelimited>,
}

impl<W: Write> JsonWriter<W> {
    pub fn new(sink: W) -> Self {
        JsonWriter { writer: WriterBuilder::new().with_explicit_nulls(true).build(sink) }
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), String> {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if has_non_finite(column) {
                return Err(format!("column {:?} has NaN or an infinity, which JSON cannot hold", field.name()));
            }
        }
        self.writer.write(batch).map_err(|error| error.to_string())
    }

    pub fn into_inner(mut self) -> W {
        // The line format has no end mark.
        let _ = self.writer.finish();
        self.writer.into_inner()
    }
}

/// `arrow-json` would silently write NULL for it.
fn has_non_finite(array: &ArrayRef) -> bool {
    fn any<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, is_number: impl Fn(T::Native) -> bool) -> bool {
        array.iter().flatten().any(|value| !is_number(value))
    }
    match array.data_type() {
        DataType::Float16 => any(array.as_primitive::<Float16Type>(), |value| value.is_finite()),
        DataType::Float32 => any(array.as_primitive::<Float32Type>(), f32::is_finite),
        DataType::Float64 => any(array.as_primitive::<Float64Type>(), f64::is_finite),
        _ => array.to_data().child_data().iter().any(|child| has_non_finite(&make_array(child.clone()))),
    }
}

/// The types `arrow-json` has an encoder for.
pub(super) fn can_hold(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(..) => false,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => can_hold(field.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| can_hold(field.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let is_text = matches!(fields[0].data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
                is_text && can_hold(fields[1].data_type())
            }
            _ => false,
        },
        DataType::Dictionary(_, value) => can_hold(value),
        DataType::RunEndEncoded(_, values) => can_hold(values.data_type()),
        _ => true,
    }
}
