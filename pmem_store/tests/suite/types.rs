//! Every type reads back equal to what was written, in place in the mapping.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::*;
use pmem_store::Segment;
use pmem_store::segment::storable_schema;

use crate::helpers::*;

pub const ROWS: usize = 103;

fn nulls(rows: usize, every: usize) -> Option<NullBuffer> {
    Some((0..rows).map(|row| row % every != 0).collect())
}

/// Empty, inlined and long texts; some are NULL.
pub fn texts(rows: usize) -> StringArray {
    (0..rows).map(|row| (row % 5 != 4).then(|| "añb".repeat(row % 9))).collect()
}

pub fn numbers(rows: usize) -> ArrayRef {
    Arc::new((0..rows as i64).map(|row| (row % 7 != 3).then_some(row % 100)).collect::<Int64Array>())
}

fn numbers_as(data_type: DataType) -> ArrayRef {
    let numbers = numbers(ROWS);
    // Some types can be made from 32-bit integers only.
    match cast(&numbers, &data_type) {
        Ok(array) => array,
        Err(_) => cast(&cast(&numbers, &DataType::Int32).unwrap(), &data_type).unwrap(),
    }
}

pub fn list_of<O: OffsetSizeTrait>(rows: usize, values: ArrayRef) -> ArrayRef {
    let offsets = (0..=rows).map(|row| O::usize_as(row * values.len() / rows)).collect::<ScalarBuffer<O>>();
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    // The NULL lists have values behind them, which must not be visible.
    Arc::new(GenericListArray::new(field, OffsetBuffer::new(offsets), values, nulls(rows, 6)))
}

fn fixed_list_of(size: usize, values: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    let nulls = nulls(values.len() / size, 4);
    Arc::new(FixedSizeListArray::new(field, size as i32, values, nulls))
}

pub fn struct_of(children: Vec<ArrayRef>) -> ArrayRef {
    let fields = children.iter().enumerate();
    let fields: Fields = fields.map(|(i, child)| Field::new(format!("f{i}"), child.data_type().clone(), true)).collect();
    let rows = children[0].len();
    Arc::new(StructArray::new(fields, children, nulls(rows, 8)))
}

pub fn map_of(rows: usize, values: ArrayRef) -> ArrayRef {
    let keys: ArrayRef = strings(values.len(), |row| format!("key {row}"));
    let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("value", values.data_type().clone(), true)];
    let entries = StructArray::new(Fields::from(fields), vec![keys, values], None);
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let offsets = (0..=rows).map(|row| (row * entries.len() / rows) as i32).collect::<ScalarBuffer<i32>>();
    Arc::new(MapArray::new(field, OffsetBuffer::new(offsets), entries, nulls(rows, 5), false))
}

fn views(rows: usize) -> ArrayRef {
    cast(&texts(rows), &DataType::Utf8View).unwrap()
}

/// The types that integers can be cast to.
pub fn number_types() -> Vec<DataType> {
    use DataType::*;
    use TimeUnit::*;
    let zone = |text: &str| Some(text.into());
    vec![
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Boolean,
        Decimal32(9, 2),
        Decimal64(18, 4),
        Decimal128(38, 10),
        Decimal256(76, 20),
        Date32,
        Date64,
        Time32(Second),
        Time32(Millisecond),
        Time64(Microsecond),
        Time64(Nanosecond),
        Timestamp(Second, None),
        Timestamp(Millisecond, zone("UTC")),
        Timestamp(Microsecond, zone("Europe/Berlin")),
        Timestamp(Nanosecond, zone("+05:30")),
        Duration(Second),
        Duration(Millisecond),
        Duration(Microsecond),
        Duration(Nanosecond),
    ]
}

pub fn flat_columns() -> Vec<ArrayRef> {
    use DataType::*;
    let mut columns: Vec<ArrayRef> = number_types().into_iter().map(numbers_as).collect();
    let text: ArrayRef = Arc::new(texts(ROWS));
    for data_type in [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView] {
        columns.push(cast(&text, &data_type).unwrap());
    }
    let mut fixed = FixedSizeBinaryBuilder::new(5);
    (0..ROWS).for_each(|row| if row % 3 == 0 { fixed.append_null() } else { fixed.append_value([row as u8; 5]).unwrap() });
    let valid = |row: usize| !row.is_multiple_of(4);
    columns.push(Arc::new(fixed.finish()));
    columns.push(Arc::new((0..ROWS).map(|row| valid(row).then_some(row as i32)).collect::<IntervalYearMonthArray>()));
    let days = (0..ROWS).map(|row| valid(row).then(|| IntervalDayTimeType::make_value(row as i32, -1)));
    columns.push(Arc::new(days.collect::<IntervalDayTimeArray>()));
    let months = (0..ROWS).map(|row| valid(row).then(|| IntervalMonthDayNanoType::make_value(row as i32, -1, 1 << 40)));
    columns.push(Arc::new(months.collect::<IntervalMonthDayNanoArray>()));
    columns.push(Arc::new(NullArray::new(ROWS)));
    columns
}

pub fn nested_columns() -> Vec<ArrayRef> {
    let inner = || struct_of(vec![views(3 * ROWS), list_of::<i32>(3 * ROWS, numbers(7 * ROWS))]);
    vec![
        list_of::<i32>(ROWS, views(3 * ROWS)),
        list_of::<i32>(ROWS, inner()),
        list_of::<i64>(ROWS, list_of::<i64>(2 * ROWS, Arc::new(texts(5 * ROWS)))),
        list_of::<i32>(ROWS, Arc::new(NullArray::new(2 * ROWS))),
        fixed_list_of(3, inner()),
        fixed_list_of(2, fixed_list_of(2, numbers(4 * ROWS))),
        struct_of(vec![struct_of(vec![views(ROWS), numbers(ROWS)]), map_of(ROWS, numbers(2 * ROWS))]),
        map_of(ROWS, list_of::<i32>(2 * ROWS, views(3 * ROWS))),
        map_of(ROWS, struct_of(vec![map_of(2 * ROWS, views(2 * ROWS)), fixed_list_of(1, numbers(2 * ROWS))])),
    ]
}

pub fn named(columns: Vec<ArrayRef>) -> RecordBatch {
    let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
    batch(names.iter().map(String::as_str).zip(columns).collect())
}

fn assert_in_place(data: &ArrayData, segment: &Segment) {
    let validity = data.nulls().map(|nulls| nulls.buffer());
    for buffer in data.buffers().iter().chain(validity).filter(|buffer| !buffer.is_empty()) {
        let mapping = segment.mapping().unwrap();
        assert!(mapping.contains(buffer.as_ptr(), buffer.len()), "a buffer of {} was copied", data.data_type());
        let offset = buffer.as_ptr().addr() - mapping.as_ptr().addr();
        assert_eq!(offset % 64, 0, "a buffer of {} is not aligned", data.data_type());
    }
    data.child_data().iter().for_each(|child| assert_in_place(child, segment));
}

/// Each column separately, so that a failure names its type.
pub fn assert_round_trip(written: &[RecordBatch]) {
    let expected = concat_batches(&written[0].schema(), written).unwrap();
    let (_dir, store) = store_with(written);
    let segment = segment(&store);
    for index in 0..expected.num_columns() {
        let actual = segment.batch(0, &[index]).unwrap();
        assert_eq!(actual.column(0), expected.column(index), "{}", expected.column(index).data_type());
        assert_in_place(&actual.column(0).to_data(), &segment);
    }
}

#[test]
fn every_flat_type_reads_back_equal_and_in_place() {
    assert_round_trip(&[named(flat_columns())]);
}

#[test]
fn every_nested_type_reads_back_equal_and_in_place() {
    assert_round_trip(&[named(nested_columns())]);
}

#[test]
fn slices_with_odd_offsets_read_back_equal_and_in_place() {
    let (flat, nested) = (named(flat_columns()), named(nested_columns()));
    assert_round_trip(&[flat.slice(3, 61)]);
    assert_round_trip(&[nested.slice(3, 61)]);
    assert_round_trip(&[flat.slice(7, 1), flat.slice(0, 9), flat.slice(101, 2)]);
    assert_round_trip(&[nested.slice(7, 1), nested.slice(0, 9), nested.slice(101, 2)]);
}

#[test]
fn columns_without_a_value_read_back_equal() {
    let schema = named(flat_columns().into_iter().chain(nested_columns()).collect()).schema();
    let columns = schema.fields().iter().map(|field| new_null_array(field.data_type(), 10)).collect();
    assert_round_trip(&[RecordBatch::try_new(schema, columns).unwrap()]);
}

#[test]
fn a_fixed_size_list_of_size_zero_keeps_its_rows() {
    let field = Arc::new(Field::new("item", DataType::Int32, true));
    let values: ArrayRef = Arc::new(Int32Array::from(Vec::<i32>::new()));
    let array = FixedSizeListArray::try_new_with_length(field, 0, values, None, 10).unwrap();
    assert_round_trip(&[named(vec![Arc::new(array)])]);
}

#[test]
fn encodings_of_an_array_become_the_value_type() {
    let text: ArrayRef = Arc::new(texts(ROWS));
    let dictionary = cast(&text, &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))).unwrap();
    let runs = RunArray::try_new(&Int32Array::from(vec![50, ROWS as i32]), &StringArray::from(vec![Some("a"), None])).unwrap();
    let in_list = list_of::<i32>(ROWS, Arc::clone(&dictionary));
    let list = list_of::<i32>(ROWS, numbers(2 * ROWS));
    let view = cast(&list, &DataType::ListView(Arc::new(Field::new("item", DataType::Int64, true)))).unwrap();
    let written = named(vec![dictionary, Arc::new(runs), in_list, view, struct_of(vec![numbers(ROWS)])]);
    let stored = storable_schema(&written.schema()).unwrap();
    let (_dir, store) = store_with(std::slice::from_ref(&written));
    let segment = segment(&store);
    assert_eq!(segment.schema().as_ref(), &stored);
    let actual = segment.batch(0, &[0, 1, 2, 3, 4]).unwrap();
    for (index, field) in stored.fields().iter().enumerate() {
        assert_eq!(actual.column(index), &cast(written.column(index), field.data_type()).unwrap(), "{field}");
        assert_in_place(&actual.column(index).to_data(), &segment);
    }
    assert_eq!(actual.column(0), &text);
    assert_eq!(actual.column(3), &list);
}
