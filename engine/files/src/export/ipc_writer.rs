//! Arrow files and streams that every reader of Arrow opens: text and bytes are plain, decimals have at least 128 bits, and values
//! replace dictionaries, even nested ones. Readers of C++, Rust and Go know views and narrow decimals; those of Java, R, JavaScript and
//! DuckDB know them partly or not at all.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::kernels::length::length;
use arrow::compute::{cast, sum, take};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_ipc::writer::{FileWriter, StreamWriter};

use super::sink::Sink;

/// Plain text and bytes have offsets of 32 bits.
const TEXT_BYTES_MAX: usize = i32::MAX as usize;

pub(super) struct IpcWriter {
    encoder: Encoder,
    schema: SchemaRef,
}

enum Encoder {
    File(Box<FileWriter<Sink>>),
    Stream(Box<StreamWriter<Sink>>),
}

impl IpcWriter {
    pub fn new(sink: Sink, schema: &Schema, is_stream: bool) -> Result<IpcWriter, ArrowError> {
        let fields = schema.fields().iter().map(plain_field).collect::<Vec<_>>();
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let encoder = match is_stream {
            true => Encoder::Stream(Box::new(StreamWriter::try_new(sink, &schema)?)),
            false => Encoder::File(Box::new(FileWriter::try_new(sink, &schema)?)),
        };
        Ok(IpcWriter { encoder, schema })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), String> {
        if batch.schema_ref().fields() == self.schema.fields() {
            return self.encode(batch).map_err(|error| error.to_string());
        }
        for piece in pieces(batch, TEXT_BYTES_MAX)? {
            plain_batch(&piece, &self.schema).and_then(|plain| self.encode(&plain)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    pub fn into_inner(self) -> Result<Sink, ArrowError> {
        match self.encoder {
            Encoder::File(writer) => writer.into_inner(),
            Encoder::Stream(writer) => writer.into_inner(),
        }
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match &mut self.encoder {
            Encoder::File(writer) => writer.write(batch),
            Encoder::Stream(writer) => writer.write(batch),
        }
    }
}

fn plain_field(field: &FieldRef) -> FieldRef {
    match plain_type(field.data_type()) {
        same if same == *field.data_type() => Arc::clone(field),
        plain => Arc::new(Field::clone(field).with_data_type(plain)),
    }
}

fn plain_type(data_type: &DataType) -> DataType {
    use DataType::*;
    match data_type {
        Utf8View => Utf8,
        BinaryView => Binary,
        Decimal32(precision, scale) | Decimal64(precision, scale) => Decimal128(*precision, *scale),
        Dictionary(_, value) => plain_type(value),
        List(item) => List(plain_field(item)),
        LargeList(item) => LargeList(plain_field(item)),
        FixedSizeList(item, size) => FixedSizeList(plain_field(item), *size),
        Struct(fields) => Struct(fields.iter().map(plain_field).collect()),
        Map(entries, is_sorted) => Map(plain_field(entries), *is_sorted),
        other => other.clone(),
    }
}

/// Halves the batch, and its halves again, until no column has more text than plain offsets reach.
fn pieces(batch: &RecordBatch, bytes_max: usize) -> Result<Vec<RecordBatch>, String> {
    let bytes = batch.columns().iter().map(|column| text_bytes(column)).collect::<Result<Vec<_>, _>>();
    let bytes = bytes.map_err(|error| error.to_string())?;
    let Some(column) = bytes.iter().position(|bytes| *bytes > bytes_max) else { return Ok(vec![batch.clone()]) };
    let half = batch.num_rows() / 2;
    if half == 0 {
        let name = batch.schema_ref().field(column).name();
        return Err(format!("one row of column \"{name}\" has more text than 2 GiB, which Arrow files do not hold; select a part of it"));
    }
    let mut all = pieces(&batch.slice(0, half), bytes_max)?;
    all.append(&mut pieces(&batch.slice(half, batch.num_rows() - half), bytes_max)?);
    Ok(all)
}

/// The bytes of text in the largest plain array that `array`, or an array nested in it, becomes.
fn text_bytes(array: &dyn Array) -> Result<usize, ArrowError> {
    let within = |values: &ArrayRef, from: usize, to: usize| text_bytes(&values.slice(from, to - from));
    Ok(match array.data_type() {
        DataType::Utf8View => array.as_string_view().lengths().map(|length| length as usize).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(|length| length as usize).sum(),
        DataType::Dictionary(_, value) if has_length(value) => {
            let dictionary = array.as_any_dictionary();
            let lengths = cast(&length(dictionary.values())?, &DataType::Int64)?;
            let of_rows = cast(&dictionary.with_values(lengths), &DataType::Int64)?;
            sum(of_rows.as_primitive::<Int64Type>()).unwrap_or(0) as usize
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            within(list.values(), list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize)?
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            within(list.values(), list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize)?
        }
        DataType::FixedSizeList(..) => text_bytes(array.as_fixed_size_list().values())?,
        DataType::Struct(_) => largest(array.as_struct().columns(), |column| text_bytes(column))?,
        DataType::Map(..) => {
            let map = array.as_map();
            let (from, to) = (map.value_offsets()[0] as usize, map.value_offsets()[map.len()] as usize);
            largest(map.entries().columns(), |column| within(column, from, to))?
        }
        _ => 0,
    })
}

fn largest(columns: &[ArrayRef], bytes: impl Fn(&ArrayRef) -> Result<usize, ArrowError>) -> Result<usize, ArrowError> {
    columns.iter().try_fold(0, |most, column| Ok(most.max(bytes(column)?)))
}

fn has_length(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView)
}

fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| plain_array(array, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

fn plain_array(array: &ArrayRef, target_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        same if same == target_type => Ok(Arc::clone(array)),
        // A cast of a nested array casts all values, including those outside of the slice.
        nested if nested.is_nested() => {
            let rows = UInt64Array::from_iter_values(0..array.len() as u64);
            cast(&take(array, &rows, None)?, target_type)
        }
        _ => cast(array, target_type),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, DictionaryArray, ListBuilder, StringViewArray, StringViewBuilder, StructArray};
    use arrow::compute::concat_batches;
    use arrow::datatypes::Int8Type;

    use super::*;

    fn texts() -> RecordBatch {
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        lists.append_value([Some("a text that is too long for a view"), None]);
        lists.append_null();
        lists.append_value([Some("b"), Some("")]);
        lists.append(true);
        let lists: ArrayRef = Arc::new(lists.finish());
        let item = Arc::new(Field::new("l", lists.data_type().clone(), true));
        let codes: DictionaryArray<Int8Type> = [Some("twelve bytes"), None, Some("x"), Some("twelve bytes")].into_iter().collect();
        RecordBatch::try_from_iter_with_nullable([
            ("s", Arc::new(StringViewArray::from(vec![Some("é"), None, Some("more than twelve bytes"), Some("")])) as ArrayRef, true),
            ("b", Arc::new(BinaryViewArray::from(vec![Some(&b"\0"[..]), Some(b""), None, Some(b"\xff")])), true),
            ("p", Arc::new(StructArray::from(vec![(item, lists)])), true),
            ("c", Arc::new(codes), true),
        ])
        .unwrap()
    }

    fn plain_schema(batch: &RecordBatch) -> SchemaRef {
        Arc::new(Schema::new(batch.schema().fields().iter().map(plain_field).collect::<Vec<_>>()))
    }

    #[test]
    fn a_batch_with_more_text_than_offsets_reach_is_cut_and_all_of_its_rows_are_kept() {
        let batch = texts().slice(1, 3);
        let schema = plain_schema(&batch);
        let whole = plain_batch(&batch, &schema).unwrap();
        assert_eq!(pieces(&batch, 100).unwrap().len(), 1, "what stands outside of the slice is not counted");
        let cut = pieces(&batch, 22).unwrap();
        assert_eq!(cut.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [3]);
        let cut = pieces(&batch, 13);
        assert!(cut.unwrap_err().contains("one row of column \"s\" has more text than 2 GiB"));
        let cut = pieces(&texts(), 34).unwrap();
        let plain = cut.iter().map(|piece| plain_batch(piece, &schema).unwrap()).collect::<Vec<_>>();
        assert!(plain.len() > 1);
        assert_eq!(concat_batches(&schema, &plain).unwrap().slice(1, 3), whole);
    }

    #[test]
    fn the_text_of_every_row_that_a_dictionary_stands_for_is_counted() {
        let batch = texts();
        assert_eq!(text_bytes(batch.column(3)).unwrap(), 25);
        assert_eq!(text_bytes(&batch.column(3).slice(1, 2)).unwrap(), 1);
        assert_eq!(text_bytes(batch.column(2)).unwrap(), 35);
    }
}
