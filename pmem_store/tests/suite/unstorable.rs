//! A value that cannot be stored is refused before anything is written.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use pmem_store::segment::storable_schema;

use crate::helpers::*;
use crate::types::{ROWS, assert_round_trip, list_of, map_of, named, numbers, struct_of, texts};

#[test]
fn a_union_cannot_be_stored_and_its_column_is_named() {
    let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
    let error = storable_schema(&Schema::new(vec![Field::new("u", union, true)])).unwrap_err();
    assert!(error.starts_with("u ("), "{error}");
}

fn nested(levels: usize) -> RecordBatch {
    let column = (0..levels).fold(numbers(ROWS), |inner, level| match level % 2 {
        0 => struct_of(vec![inner]),
        _ => list_of::<i32>(ROWS, inner),
    });
    named(vec![column])
}

#[test]
fn fifty_levels_of_nesting_are_stored_and_more_are_refused() {
    assert_round_trip(&[nested(50)]);
    let error = storable_schema(&nested(51).schema()).unwrap_err();
    assert_eq!(error, "c0 (nested more than 50 levels deep)");
}

#[test]
fn an_appender_refuses_a_schema_that_is_not_that_of_stored_rows() {
    let text: ArrayRef = Arc::new(texts(2 * ROWS));
    let encoded = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let map = named(vec![map_of(ROWS, cast(&text, &encoded).unwrap())]);
    for batch in [map, nested(60)] {
        let (dir, store) = fresh();
        let id = store.new_table_id();
        let mut appender = store.appender(id, batch.schema()).unwrap();
        let error = appender.write(batch).unwrap_err().to_string();
        assert!(error.starts_with("column c0 (") && error.ends_with(") cannot be stored"), "{error}");
        // It fails without rows too, because the table would be created with the schema.
        appender.finish().unwrap_err();
        assert_eq!(segment_files(dir.path()).len(), 0);
    }
}
