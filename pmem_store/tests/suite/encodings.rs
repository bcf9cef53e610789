//! Columns that a segment stores in other types than their physical ones.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use arrow_ipc::reader::FileReader;
use pmem_store::segment::{TYPE_METADATA, decode};
use pmem_store::{Store, ZONE_ROWS};

use crate::helpers::*;
use crate::types::number_types;

const ROWS: usize = 2 * ZONE_ROWS + 77;

/// The types in which the first segment has the columns.
fn stored_types(store: &Store) -> Vec<DataType> {
    segment(store).stored_schema().fields().iter().map(|field| field.data_type().clone()).collect()
}

fn texts_as(rows: usize, data_type: &DataType, text: impl Fn(usize) -> Option<String>) -> ArrayRef {
    let texts: StringArray = (0..rows).map(text).collect();
    cast(&texts, data_type).unwrap()
}

fn one(column: ArrayRef) -> RecordBatch {
    batch(vec![("v", column)])
}

/// How one column of these values is stored, after it was read back equal.
fn stored_as(column: ArrayRef) -> DataType {
    let rows = one(column);
    let (_dir, store) = store_with(std::slice::from_ref(&rows));
    assert_eq!(read(&table(&store, "t")), rows);
    stored_types(&store).remove(0)
}

fn dictionary(codes: DataType, values: DataType) -> DataType {
    DataType::Dictionary(Box::new(codes), Box::new(values))
}

#[test]
fn every_encoding_reads_back_equal() {
    let integers = (0..ROWS as i64).map(|row| (row % 7 != 3).then_some(row % 50)).collect::<Int64Array>();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for data_type in number_types() {
        let column = cast(&integers, &data_type).or_else(|_| cast(&cast(&integers, &DataType::Int32).unwrap(), &data_type));
        columns.push(column.unwrap());
    }
    for data_type in [DataType::Utf8View, DataType::BinaryView] {
        columns.push(texts_as(ROWS, &data_type, |row| (row % 5 != 4).then(|| "añb".repeat(row % 9))));
        columns.push(texts_as(ROWS, &data_type, |row| (row % 5 != 4).then(|| format!("{}{row}", "añb".repeat(row % 9)))));
        columns.push(texts_as(ROWS, &data_type, |row| Some(format!("{} of a thousand texts", row % 1000))));
        columns.push(texts_as(ROWS, &data_type, |_| None));
    }
    let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
    let rows = batch(names.iter().map(String::as_str).zip(columns).collect());
    let (_dir, store) = store_with(std::slice::from_ref(&rows));
    assert_eq!(read(&table(&store, "t")), rows);
    let opened = segment(&store);
    assert_eq!(opened.schema(), &rows.schema());
    let is_encoded = |index: &usize| opened.stored_schema().field(*index).data_type() != rows.schema().field(*index).data_type();
    let plain: Vec<DataType> =
        (0..names.len()).filter(|index| !is_encoded(index)).map(|index| rows.column(index).data_type().clone()).collect();
    // Half a float, and what has one byte or is no integer, stays.
    use DataType::*;
    assert_eq!(plain, [Int8, UInt8, Float16, Float32, Float64, Boolean, Decimal256(76, 20)]);
    // Zones, and rows of them, decode to the same values.
    let all: Vec<usize> = (0..names.len()).collect();
    let stored = opened.stored_batch(0, &all).unwrap();
    let zone = opened.zone(&stored, ZONE_ROWS, ZONE_ROWS).unwrap();
    for (index, column) in zone.columns().iter().enumerate() {
        let expected = rows.column(index).slice(ZONE_ROWS, ZONE_ROWS);
        let to = expected.data_type();
        assert_eq!(&opened.decode(column, to).unwrap(), &expected, "{to}");
        assert_eq!(&opened.decode(&column.slice(100, 50), to).unwrap(), &expected.slice(100, 50), "{to}");
    }
    opened.validate().unwrap();
    assert_eq!(store.check(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn integers_take_the_bytes_that_twice_their_range_needs() {
    let of = |range: std::ops::Range<i64>| {
        let values = (0..ROWS as i64).map(|row| range.start + row % (range.end - range.start));
        stored_as(Arc::new(Int64Array::from_iter_values(values)))
    };
    assert_eq!(of(-64..64), DataType::Int8);
    assert_eq!(of(-65..64), DataType::Int16);
    assert_eq!(of(0..65), DataType::Int16);
    assert_eq!(of(16_383..16_384), DataType::Int16);
    assert_eq!(of(16_384..16_385), DataType::Int32);
    assert_eq!(of((1 << 30) - 1..1 << 30), DataType::Int32);
    assert_eq!(of(1 << 30..(1 << 30) + 1), DataType::Int64);
    assert_eq!(of(i64::MIN..i64::MIN + 1), DataType::Int64);
    let unsigned = |value: u64| stored_as(Arc::new(UInt64Array::from(vec![value; ROWS])));
    assert_eq!(unsigned(63), DataType::UInt8);
    assert_eq!(unsigned(u64::MAX), DataType::UInt64);
    let decimal = |value: i128| {
        let values = Decimal128Array::from(vec![value; ROWS]).with_precision_and_scale(38, 4).unwrap();
        stored_as(Arc::new(values))
    };
    assert_eq!(decimal(-63), DataType::Int8);
    assert_eq!(decimal(i128::from(i64::MAX) / 4), DataType::Int64);
    assert_eq!(decimal(i128::from(i64::MAX)), DataType::Decimal128(38, 4));
    assert_eq!(stored_as(Arc::new(Date32Array::from(vec![20_786; ROWS]))), DataType::Int16);
    assert_eq!(stored_as(Arc::new(Date32Array::from(vec![32_768; ROWS]))), DataType::Date32);
}

#[test]
fn what_lies_beneath_a_null_does_not_count() {
    let values = vec![i64::MAX; ROWS];
    let nulls = (0..ROWS).map(|row| row % 2 == 0).collect();
    let mut column = Int64Array::new(values.into(), Some(nulls));
    column = column.unary_opt(|value| (value != i64::MAX).then_some(value));
    assert_eq!(stored_as(Arc::new(column)), DataType::Int8);
    assert_eq!(stored_as(new_null_array(&DataType::Int64, ROWS)), DataType::Int8);
    assert_eq!(stored_as(new_null_array(&DataType::Utf8View, ROWS)), dictionary(DataType::UInt8, DataType::Utf8));
}

#[test]
fn few_texts_are_a_dictionary_and_others_have_offsets() {
    let view = DataType::Utf8View;
    let of = |texts: usize| stored_as(texts_as(ROWS, &view, |row| Some(format!("text {}", row % texts))));
    assert_eq!(of(1), dictionary(DataType::UInt8, DataType::Utf8));
    assert_eq!(of(128), dictionary(DataType::UInt8, DataType::Utf8));
    assert_eq!(of(129), dictionary(DataType::UInt16, DataType::Utf8));
    assert_eq!(of(4_000), dictionary(DataType::UInt16, DataType::Utf8));
    assert_eq!(of(5_000), DataType::Utf8);
    let long = stored_as(texts_as(ROWS, &view, |row| Some(format!("{row:0>300}"))));
    assert_eq!(long, view);
    let bytes = stored_as(texts_as(ROWS, &DataType::BinaryView, |row| Some(format!("text {}", row % 3))));
    assert_eq!(bytes, dictionary(DataType::UInt8, DataType::Binary));
}

#[test]
fn few_rows_are_stored_plainly() {
    assert_eq!(stored_as(Arc::new(Int64Array::from_iter_values(0..1_000))), DataType::Int64);
}

#[test]
fn rows_that_do_not_fit_begin_a_wider_segment() {
    let batch_rows = 16 * ZONE_ROWS as i64;
    let column = |value: i64| one(Arc::new(Int64Array::from(vec![value; batch_rows as usize])));
    let batches = [column(1), column(127), column(1_000), column(-5), column(1 << 40)];
    let (_dir, store) = store_with(&batches);
    let rows: Vec<i64> = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    assert_eq!(read_ints(&table(&store, "t")), rows);
    let stored: Vec<(DataType, usize)> = table(&store, "t")
        .segments()
        .iter()
        .map(|segment| segment.open().unwrap())
        .map(|segment| (segment.stored_schema().field(0).data_type().clone(), segment.batch_count()))
        .collect();
    // -5 would fit a byte, but a segment that has begun goes on.
    assert_eq!(stored, [(DataType::Int8, 2), (DataType::Int16, 2), (DataType::Int64, 1)]);
}

#[test]
fn many_columns_that_grow_begin_few_segments() {
    let batch_rows = 16 * ZONE_ROWS;
    // In each batch another column does not fit any more.
    let columns = |index: usize| -> Vec<(String, ArrayRef)> {
        let value = |column: usize| if column < index { 1_000 } else { 1 };
        (0..10).map(|column| (format!("c{column}"), Arc::new(Int64Array::from(vec![value(column); batch_rows])) as ArrayRef)).collect()
    };
    let batches: Vec<RecordBatch> = (0..10)
        .map(columns)
        .map(|columns| batch(columns.iter().map(|(name, column)| (name.as_str(), Arc::clone(column))).collect()))
        .collect();
    let (_dir, store) = store_with(&batches);
    assert_eq!(table(&store, "t").segments().len(), 3);
    assert_eq!(read(&table(&store, "t")).num_rows(), 10 * batch_rows);
}

#[test]
fn plain_columns_stay_as_they_are() {
    let rows = one(Arc::new(Int64Array::from(vec![1; ROWS])));
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &rows.schema());
    let mut appender = store.appender(id, rows.schema()).unwrap().with_plain_columns();
    appender.write(rows).unwrap();
    let segments = appender.finish().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments, false).unwrap();
    transaction.commit("INSERT").unwrap();
    assert_eq!(stored_types(&store), [DataType::Int64]);
}

#[test]
fn rows_that_were_read_from_a_file_of_a_segment_can_be_written_again() {
    let metadata = [(TYPE_METADATA.to_string(), "Utf8View".to_string())].into();
    let field = Field::new("f", DataType::Float64, true).with_metadata(metadata);
    let schema = Arc::new(Schema::new(vec![field, Field::new("n", DataType::Int64, true)]));
    let columns: Vec<ArrayRef> = vec![Arc::new(Float64Array::from(vec![0.5; ROWS])), Arc::new(Int64Array::from(vec![1; ROWS]))];
    let rows = RecordBatch::try_new(schema, columns).unwrap();
    let (_dir, store) = store_with(std::slice::from_ref(&rows));
    assert_eq!(read(&table(&store, "t")).columns(), rows.columns());
}

#[test]
fn a_dictionary_grows_with_its_segment_and_a_full_one_ends_it() {
    let batch_rows = 16 * ZONE_ROWS;
    let texts = |first: usize, count: usize| {
        one(texts_as(batch_rows, &DataType::Utf8View, |row| Some(format!("a text that is not inlined {}", first + row % count))))
    };
    let batches = [texts(0, 3), texts(0, 3), texts(2, 200), texts(0, 1), texts(100, 200)];
    let (_dir, store) = store_with(&batches);
    assert_eq!(read(&table(&store, "t")), arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap());
    let opened: Vec<_> = table(&store, "t").segments().iter().map(|segment| segment.open().unwrap()).collect();
    let stored: Vec<_> =
        opened.iter().map(|segment| (segment.stored_schema().field(0).data_type().clone(), segment.batch_count())).collect();
    let codes = |codes: DataType| dictionary(codes, DataType::Utf8);
    assert_eq!(stored, [(codes(DataType::UInt8), 4), (codes(DataType::UInt16), 1)]);
    let dictionaries: Vec<ArrayRef> =
        (0..4).map(|index| Arc::clone(opened[0].stored_batch(index, &[0]).unwrap().column(0).as_any_dictionary().values())).collect();
    assert!(dictionaries.iter().all(|values| values.len() == 202));
    assert_eq!(store.check(|_| ()).unwrap().problems, Vec::<String>::new());
}

#[test]
fn other_readers_of_arrow_read_the_file_and_find_the_physical_types_in_it() {
    let rows = batch(vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row % 50)))),
        ("s", texts_as(ROWS, &DataType::Utf8View, |row| Some(format!("text {}", row % 3)))),
        ("u", texts_as(ROWS, &DataType::Utf8View, |row| Some(format!("text {row}")))),
    ]);
    let (_dir, store) = store_with(std::slice::from_ref(&rows));
    let path = table(&store, "t").segments()[0].path().to_path_buf();
    let reader = FileReader::try_new(std::fs::File::open(path).unwrap(), None).unwrap();
    let schema = reader.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.metadata()[TYPE_METADATA].as_str()).collect();
    assert_eq!(names, ["Int64", "Utf8View", "Utf8View"]);
    let batches = reader.collect::<Result<Vec<_>, _>>().unwrap();
    let [found] = batches.as_slice() else { panic!("{} batches", batches.len()) };
    for (index, column) in found.columns().iter().enumerate() {
        assert_eq!(&cast(column, rows.column(index).data_type()).unwrap(), rows.column(index));
        assert_eq!(&decode(column, rows.column(index).data_type()).unwrap(), rows.column(index));
    }
}

#[test]
fn a_flipped_byte_of_a_dictionary_is_found_when_the_segment_is_opened() {
    let rows = one(texts_as(ROWS, &DataType::Utf8View, |row| Some(format!("a text of some length {}", row % 3))));
    let (_dir, store) = store_with(&[rows]);
    let handle = table(&store, "t").segments()[0].clone();
    let mut bytes = std::fs::read(handle.path()).unwrap();
    let at = bytes.windows(12).position(|bytes| bytes == b"a text of so").unwrap();
    bytes[at] ^= 1;
    std::fs::write(handle.path(), bytes).unwrap();
    let error = pmem_store::Segment::open(handle.path(), &handle.record().sealed).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn statistics_have_the_physical_types() {
    let rows = batch(vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row % 50)))),
        ("s", texts_as(ROWS, &DataType::Utf8View, |row| Some(format!("text {}", row % 3)))),
    ]);
    let (_dir, store) = store_with(&[rows]);
    let opened = segment(&store);
    let zones = opened.statistics().column(0);
    assert_eq!((zones.min.data_type(), zones.max.as_primitive::<Int64Type>().value(0)), (&DataType::Int64, 49));
    assert_eq!(opened.statistics().column(1).max.as_string_view().value(0), "text 2");
}

#[test]
fn offsets_of_a_segment_that_is_cut_short_are_an_error() {
    let rows = one(texts_as(ROWS, &DataType::Utf8View, |row| Some(format!("text {row}"))));
    let (_dir, store) = store_with(&[rows]);
    let opened = segment(&store);
    let stored = opened.stored_batch(0, &[0]).unwrap();
    assert_eq!(stored.column(0).data_type(), &DataType::Utf8);
    // The column has no NULLs, so its offsets are first.
    let place = opened.batch_place(0);
    let in_second_zone = place.offset + place.metadata_bytes + 4 * ZONE_ROWS as u64 + 8192;
    let file = std::fs::OpenOptions::new().write(true).open(opened.path()).unwrap();
    file.set_len(in_second_zone / 4096 * 4096).unwrap();
    assert_eq!(opened.zone(&stored, 0, 100).unwrap().num_rows(), 100);
    let error = opened.zone(&stored, ZONE_ROWS, ZONE_ROWS).unwrap_err();
    assert!(error.to_string().contains("cut short"), "{error}");
}
