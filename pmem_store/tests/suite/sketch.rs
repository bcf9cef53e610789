//! Distinct counts are close, and can be merged.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use pmem_store::Segment;
use pmem_store::segment::DistinctSketch;

use crate::fault::truncate;
use crate::helpers::*;
use crate::statistics::segment_of;

#[test]
fn the_distinct_sketch_is_within_five_percent() {
    for distinct in [1, 100, 10_000, 500_000] {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..distinct).chain(0..distinct.min(1_000))));
        let texts = cast(&numbers, &DataType::Utf8View).unwrap();
        let decimals = cast(&numbers.slice(0, numbers.len().min(20_000)), &DataType::Decimal128(20, 2)).unwrap();
        let columns = [numbers, texts, decimals];
        for column in columns.into_iter().filter(|column| column.len() >= distinct as usize) {
            let mut sketch = DistinctSketch::default();
            sketch.insert_array(&column);
            let error = (sketch.estimate() as f64 - distinct as f64).abs() / distinct as f64;
            assert!(error < 0.05, "{} of {}: {}", sketch.estimate(), distinct, column.data_type());
        }
    }
}

fn sketch_of(values: std::ops::Range<i64>) -> DistinctSketch {
    let mut sketch = DistinctSketch::default();
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    sketch.insert_array(&values);
    sketch
}

fn stored_sketch(segment: &Segment, column: usize) -> Option<DistinctSketch> {
    let mut sketch = DistinctSketch::default();
    segment.statistics().merge_distinct(column, &mut sketch).then_some(sketch)
}

#[test]
fn merged_sketches_count_common_values_once() {
    let mut merged = sketch_of(0..30_000);
    merged.merge(&sketch_of(20_000..50_000));
    assert_eq!(merged, sketch_of(0..50_000));
}

#[test]
fn the_sketch_of_a_column_is_kept_with_the_segment() {
    let numbers = Int64Array::from_iter((0..20_000).map(|row| (row % 4 != 0).then_some(row % 5)));
    let list = ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>((0..20_000).map(|row| Some(vec![Some(row)])));
    let segment = segment_of(vec![Arc::new(numbers), Arc::new(list), Arc::new(BooleanArray::from(vec![None; 20_000]))]);
    let estimate = |index| stored_sketch(&segment, index).map(|sketch| sketch.estimate());
    // Rows 0, 5, 10 … have every remainder, so NULL removes no value.
    assert_eq!(estimate(0), Some(5));
    assert_eq!(estimate(1), None);
    assert_eq!(estimate(2), Some(0));
}

#[test]
fn a_sketch_that_is_read_again_counts_and_merges_as_before() {
    for values in [0, 1, 400, 50_000] {
        let sketch = sketch_of(0..values);
        let mut read = DistinctSketch::from_bytes(&sketch.to_bytes()).unwrap();
        assert_eq!((read.estimate(), &read), (sketch.estimate(), &sketch));
        let (mut with_read, mut with_made) = (sketch_of(100..200), sketch_of(100..200));
        with_read.merge(&read);
        with_made.merge(&sketch);
        assert_eq!(with_read, with_made);
        read.merge(&sketch_of(100..200));
        assert_eq!(read, with_made);
    }
    assert!(DistinctSketch::from_bytes(&[0; 100]).is_none());
}

/// Many columns, of which each sketch has most of its registers.
fn many_columns() -> Vec<ArrayRef> {
    let numbers = |column: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..2_000).map(|row| row * column))) };
    let texts = cast(&strings(2_000, |row| format!("a text that no view has room for {row}")), &DataType::Utf8View).unwrap();
    (1..100).map(numbers).chain([texts]).collect()
}

/// The memory of the zones of all columns: columns of one type share their buffers.
fn zone_bytes(segment: &Segment, columns: usize) -> usize {
    let mut buffers = HashMap::new();
    for zones in (0..columns).map(|column| segment.statistics().column(column)) {
        let arrays = [zones.min.to_data(), zones.max.to_data(), zones.min_exact.to_data(), zones.max_exact.to_data()];
        for array in arrays.into_iter().chain([zones.null_count.to_data(), zones.has_nan.to_data()]) {
            let nulls = array.nulls().map(|nulls| nulls.buffer());
            buffers.extend(array.buffers().iter().chain(nulls).map(|buffer| (buffer.data_ptr(), buffer.capacity())));
        }
    }
    buffers.values().sum()
}

#[test]
fn the_statistics_of_many_columns_take_much_less_memory_than_their_sketches() {
    let columns = many_columns();
    let segment = segment_of(columns.clone());
    // The sketches stay in their file, as the next test shows.
    let size_bytes = zone_bytes(&segment, columns.len());
    assert!(size_bytes < 256 * columns.len(), "{size_bytes} bytes");
    for (index, column) in columns.iter().enumerate() {
        let mut sketch = DistinctSketch::default();
        sketch.insert_array(column);
        assert_eq!(stored_sketch(&segment, index), Some(sketch), "column {index}");
    }
}

#[test]
fn a_sketch_whose_file_was_cut_while_it_was_open_is_unknown() {
    let names: Vec<String> = (0..100).map(|column| format!("c{column}")).collect();
    let (_dir, store) = store_with(&[batch(names.iter().map(String::as_str).zip(many_columns()).collect())]);
    let segment = segment(&store);
    let file = segment.path().with_extension("columns.arrow");
    truncate(&file, 0);
    assert!((0..100).all(|column| stored_sketch(&segment, column).is_none()));
    let error = Segment::open(segment.path(), &table(&store, "t").segments()[0].record().sealed).unwrap_err().to_string();
    assert!(error.contains(file.to_str().unwrap()) && error.contains("checksum of the file is"), "{error}");
}
