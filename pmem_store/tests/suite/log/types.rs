//! Every type, in place and combined.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, RecordBatch, StringArray, StringViewArray, new_null_array};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::DataType;
use pmem_store::log::TailLog;
use pmem_store::mapping::Mapping;
use pmem_store::region::RegionKind;
use pmem_store::segment::storable_schema;

use super::helpers::*;
use crate::helpers::{batch, strings};
use crate::types::{ROWS, flat_columns, named, nested_columns, texts};

fn assert_in_place(data: &ArrayData, mapping: &Mapping) {
    let validity = data.nulls().map(|nulls| nulls.buffer());
    for buffer in data.buffers().iter().chain(validity).filter(|buffer| !buffer.is_empty()) {
        assert!(mapping.contains(buffer.as_ptr(), buffer.len()), "a buffer of {} was copied", data.data_type());
        let offset = buffer.as_ptr().addr() - mapping.as_ptr().addr();
        assert_eq!(offset % 64, 0, "a buffer of {} is not aligned", data.data_type());
    }
    data.child_data().iter().for_each(|child| assert_in_place(child, mapping));
}

fn log_with(batches: &[RecordBatch]) -> (Fixture, TailLog) {
    let schema = storable_schema(&batches[0].schema()).unwrap();
    let fixture = Fixture::new(Arc::new(schema));
    let log = fixture.create(8 << 20, RegionKind::Auto);
    batches.iter().for_each(|batch| {
        commit(&log, batch);
    });
    (fixture, log)
}

fn assert_columns(actual: &RecordBatch, expected: &RecordBatch) {
    assert_eq!(actual.num_rows(), expected.num_rows());
    for (index, column) in expected.columns().iter().enumerate() {
        assert_eq!(actual.column(index), column, "{}", column.data_type());
    }
}

#[test]
fn every_type_reads_back_equal_and_in_place_from_a_log() {
    for written in [named(flat_columns()), named(nested_columns())] {
        let (fixture, log) = log_with(std::slice::from_ref(&written));
        let assert_log = |log: &TailLog| {
            let view = log.view(1).unwrap();
            let chunk = view.chunk(0).unwrap();
            assert_columns(&chunk, &written);
            for column in chunk.columns() {
                assert_in_place(&column.to_data(), view.mapping());
            }
        };
        assert_log(&log);
        drop(log);
        assert_log(&fixture.open());
    }
}

#[test]
fn small_records_of_every_type_are_put_together_as_they_were() {
    for written in [named(flat_columns()), named(nested_columns())] {
        let pieces: Vec<RecordBatch> = (0..ROWS).map(|row| written.slice(row, 1)).collect();
        let (fixture, log) = log_with(&pieces);
        assert_columns(&all(&log), &written);
        drop(log);
        assert_columns(&all(&fixture.open()), &written);
    }
}

#[test]
fn slices_with_odd_offsets_are_appended_as_what_they_show() {
    for written in [named(flat_columns()), named(nested_columns())] {
        let slices = [written.slice(7, 1), written.slice(0, 9), written.slice(3, 61)];
        let (_fixture, log) = log_with(&slices);
        assert_columns(&all(&log), &concat_batches(&written.schema(), &slices).unwrap());
    }
}

#[test]
fn columns_without_a_value_read_back_equal_from_a_log() {
    let schema = named(flat_columns().into_iter().chain(nested_columns()).collect()).schema();
    let columns = schema.fields().iter().map(|field| new_null_array(field.data_type(), 10)).collect();
    let nothing = RecordBatch::try_new(schema, columns).unwrap();
    let (_fixture, log) = log_with(&[nothing.clone(), nothing.clone()]);
    assert_columns(&all(&log), &concat_batches(&nothing.schema(), [&nothing, &nothing]).unwrap());
}

#[test]
fn encodings_of_an_array_are_appended_as_their_values() {
    let text: Arc<dyn Array> = Arc::new(texts(ROWS));
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let (_fixture, log) = log_with(&[named(vec![cast(&text, &dictionary).unwrap()])]);
    assert_eq!(all(&log).column(0), &text);
}

#[test]
fn a_value_that_does_not_fit_its_column_is_refused_and_nothing_is_appended() {
    let (_fixture, log) = log_of_ints();
    let error = log.append(&batch(vec![("v", strings(1, |_| "x".into()))]), 1, false).unwrap_err();
    assert!(error.to_string().contains("Cannot cast"), "{error}");
    let error = log.append(&row(0), 1, false).unwrap_err();
    assert!(error.to_string().contains("a batch of 2 columns was given for a table of 1"), "{error}");
    assert_eq!(log.view(u64::MAX).unwrap().row_count(), 0);
    assert_eq!(log.size_bytes(), 4096);
}

/// Views keep whole buffers alive unless they are compacted.
#[test]
fn a_row_of_views_takes_what_it_shows_in_the_log_and_in_memory() {
    let long = StringViewArray::from_iter_values((0..10_000).map(|row| format!("a text of some length {row}")));
    let rows = batch(vec![("t", Arc::new(long))]);
    let pieces: Vec<RecordBatch> = (0..200).map(|row| rows.slice(row * 7, 1)).collect();
    let (_fixture, log) = log_with(&pieces);
    assert!(log.size_bytes() < 4096 + 200 * 1024, "{}", log.size_bytes());
    let chunk = log.view(u64::MAX).unwrap().chunk(0).unwrap();
    let column = chunk.column(0).as_any().downcast_ref::<StringViewArray>().unwrap();
    assert_eq!(column.data_buffers().len(), 1);
    assert_eq!(column.value(199), format!("a text of some length {}", 199 * 7));
    assert!(chunk.get_array_memory_size() < 64 << 10);
}

#[test]
fn a_wide_schema_moves_the_first_record_to_a_later_page() {
    let names: Vec<String> = (0..300).map(|index| format!("a column with a long name {index}")).collect();
    let text: Arc<dyn Array> = Arc::new(StringArray::from(vec!["x"]));
    let wide = batch(names.iter().map(|name| (name.as_str(), Arc::clone(&text))).collect());
    let (fixture, log) = log_with(&[wide.clone(), wide.clone()]);
    assert!(record_offsets(&log)[0] > 4096);
    drop(log);
    assert_columns(&all(&fixture.open()), &concat_batches(&wide.schema(), [&wide, &wide]).unwrap());
}
