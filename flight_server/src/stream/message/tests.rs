//! Compares the messages with those of arrow-flight, and checks which buffers stay in place.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Int64Array, ListArray, NullArray, StringArray, StringViewArray, StructArray,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use arrow_flight::FlightData;
use arrow_flight::utils::flight_data_to_batches;
use arrow_ipc::CompressionType;
use prost::Message as _;

use super::*;

fn batch(rows: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let holes: ArrayRef = Arc::new(Int64Array::from_iter((0..rows).map(|n| (n % 3 > 0).then_some(n))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter((0..rows).map(|n| (n % 5 > 0).then(|| format!("text {n}")))));
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..rows).map(|n| format!("a text that is long enough, {n}"))));
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..rows).map(|n| n.to_le_bytes())));
    let truths: ArrayRef = Arc::new(BooleanArray::from_iter((0..rows).map(|n| (n % 7 > 0).then_some(n % 2 == 0))));
    let decimals: ArrayRef = Arc::new(Decimal128Array::from_iter_values((0..rows).map(i128::from)));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>((0..rows).map(|n| Some(vec![Some(n as i32), None]))));
    let pairs: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, false)), Arc::clone(&numbers))]));
    let nothing: ArrayRef = Arc::new(NullArray::new(rows as usize));
    let columns = [numbers, holes, texts, views, bytes, truths, decimals, lists, pairs, nothing];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().enumerate().map(|(n, column)| (format!("c{n}"), column, true))).unwrap()
}

/// Decodes the bytes on the wire as a client does. They are the same with and without `in_place`.
fn received(message: Message) -> FlightData {
    let bytes: Vec<u8> = message.clone().into_wire(true).unwrap().into_iter().flatten().collect();
    let copied = message.into_wire(false).unwrap();
    assert_eq!((copied.len(), &copied[0][..]), (1, &bytes[..]));
    let (prefix, message) = bytes.split_at(GRPC_PREFIX_BYTES);
    assert_eq!(prefix[0], 0);
    assert_eq!(u32::from_be_bytes(*prefix.last_chunk().unwrap()) as usize, message.len());
    FlightData::decode(message).unwrap()
}

fn options() -> [IpcWriteOptions; 3] {
    let packed = |kind| IpcWriteOptions::default().try_with_compression(Some(kind)).unwrap();
    [IpcWriteOptions::default(), packed(CompressionType::ZSTD), packed(CompressionType::LZ4_FRAME)]
}

#[test]
fn a_client_reads_the_rows_that_were_sent() {
    let all = batch(3_000);
    for options in options() {
        let mut encoder = Encoder::new(&all.schema(), options).unwrap();
        let pieces = [all.clone(), all.slice(0, 8), all.slice(1_001, 77), all.slice(2_999, 1), all.slice(5, 0)];
        let mut sent = vec![received(encoder.schema())];
        sent.extend(pieces.iter().map(|piece| received(encoder.batch(piece).unwrap())));
        sent.push(received(encoder.empty().unwrap()));
        assert_eq!(flight_data_to_batches(&sent).unwrap(), [&pieces[..], &[all.slice(0, 0)]].concat());
    }
}

#[test]
fn the_bytes_on_the_wire_are_those_of_the_message() {
    let all = batch(2_000);
    let mut encoder = Encoder::new(&all.schema(), IpcWriteOptions::default()).unwrap();
    let plain = |message: Message| {
        let body: Vec<u8> = message.body.iter().flatten().copied().collect();
        FlightData::new().with_data_header(message.header).with_app_metadata(message.metadata).with_data_body(body)
    };
    for message in [encoder.batch(&all).unwrap().with_metadata(Bytes::from_static(b"{}")), encoder.schema()] {
        assert_eq!(received(message.clone()), plain(message));
    }
}

#[test]
fn large_buffers_are_sent_in_place() {
    let all = batch(40_000);
    let mut encoder = Encoder::new(&all.schema(), IpcWriteOptions::default()).unwrap();
    let wire = encoder.batch(&all.slice(1_000, 32_768)).unwrap().into_wire(true).unwrap();
    let numbers = all.column(0).to_data().buffers()[0].as_ptr() as usize + 8_000;
    assert!(wire.iter().any(|piece| piece.as_ptr() as usize == numbers && piece.len() == 8 * 32_768));
}

#[test]
fn a_batch_without_columns_keeps_its_rows() {
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(5));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap();
    let mut encoder = Encoder::new(&batch.schema(), IpcWriteOptions::default()).unwrap();
    let sent = [received(encoder.schema()), received(encoder.batch(&batch).unwrap())];
    assert_eq!(flight_data_to_batches(&sent).unwrap()[0].num_rows(), 5);
}
