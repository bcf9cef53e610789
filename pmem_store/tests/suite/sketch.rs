//! Distinct counts are close, and can be merged.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use pmem_store::segment::DistinctSketch;

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
    let estimate = |index| segment.statistics().summary(index).distinct.as_ref().map(DistinctSketch::estimate);
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
