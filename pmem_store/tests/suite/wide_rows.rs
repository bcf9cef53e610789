//! Rows of megabytes: a zone of them never fits into memory.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::*;
use pmem_store::segment::{Elements, OtherColumns};
use pmem_store::{SealedSegment, StoreError, ZONE_ROWS};

use crate::helpers::*;

const ELEMENTS: usize = (4 << 20) / 8;

fn schema() -> SchemaRef {
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let block = Field::new("block", DataType::FixedSizeList(item, ELEMENTS as i32), true);
    Arc::new(Schema::new(vec![Field::new("i", DataType::Int64, true), block]))
}

/// Rows of 4 MiB whose elements all equal the row's number, and their buffer.
fn rows(numbers: std::ops::Range<usize>) -> (RecordBatch, Buffer) {
    let mut values = Vec::with_capacity(numbers.len() * ELEMENTS);
    numbers.clone().for_each(|number| values.resize(values.len() + ELEMENTS, number as f64));
    let values = Float64Array::from(values);
    let buffer = values.values().inner().clone();
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let blocks = FixedSizeListArray::new(item, ELEMENTS as i32, Arc::new(values), None);
    let numbers = Int64Array::from_iter_values(numbers.map(|number| number as i64));
    (RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(blocks)]).unwrap(), buffer)
}

fn check_row(batch: &RecordBatch, row: usize, number: usize) {
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(row), number as i64);
    let block = batch.column(1).as_fixed_size_list().value(row);
    let values = block.as_primitive::<Float64Type>().values();
    assert_eq!((values.first(), values.last(), values.len()), (Some(&(number as f64)), Some(&(number as f64)), ELEMENTS));
    assert!(values.as_ptr().addr().is_multiple_of(64), "row {number} at {:p}", values.as_ptr());
}

fn commit(store: &pmem_store::Store, id: u64, segments: Vec<SealedSegment>) {
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments, false).unwrap();
    transaction.commit("INSERT").unwrap();
}

#[test]
fn rows_too_wide_for_a_zone_become_segments_as_they_come() {
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &schema());
    let mut appender = store.appender(id, schema()).unwrap();
    let mut buffers = Vec::new();
    for number in 0..40 {
        let (batch, buffer) = rows(number..number + 1);
        appender.write(batch).unwrap();
        buffers.push(buffer);
        // The buffers that the appender still holds: 80 MiB, and not yet the row that exceeded them.
        let buffer_count = buffers.iter().filter(|buffer| buffer.strong_count() > 1).count();
        assert!(buffer_count < 20, "{buffer_count} rows wait");
    }
    let segments = appender.finish().unwrap();
    assert_eq!(segments.iter().map(|segment| segment.row_count).collect::<Vec<_>>(), [20, 20]);
    commit(&store, id, segments);
    let mut number = 0;
    for segment in table(&store, "t").segments() {
        let segment = segment.open().unwrap();
        let batch = segment.batch(0, &[0, 1]).unwrap();
        let base = segment.mapping().unwrap().as_ptr().addr();
        for row in 0..batch.num_rows() {
            check_row(&batch, row, number);
            let block = batch.column(1).as_fixed_size_list().value(row);
            let at = block.as_primitive::<Float64Type>().values().as_ptr().addr();
            assert!((base..base + segment.mapping().unwrap().len()).contains(&at));
            number += 1;
        }
        // A zone is what a scan yields: the same bytes.
        let zone = segment.zone(&batch, 0, batch.num_rows()).unwrap();
        let address = |batch: &RecordBatch| batch.column(1).as_fixed_size_list().values().as_primitive::<Float64Type>().values().as_ptr();
        assert_eq!(address(&zone), address(&batch));
    }
    assert_eq!(number, 40);
}

#[test]
fn rows_wait_in_no_more_memory_than_they_may() {
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &schema());
    let mut appender = store.appender(id, schema()).unwrap().with_pending_bytes(12 << 20);
    let mut buffers = Vec::new();
    for number in 0..7 {
        let (batch, buffer) = rows(number..number + 1);
        appender.write(batch).unwrap();
        buffers.push(buffer);
        let waiting = buffers.iter().filter(|buffer| buffer.strong_count() > 1).count();
        assert!(waiting < 3, "{waiting} rows wait");
    }
    let row_counts = |segments: &[SealedSegment]| segments.iter().map(|segment| segment.row_count).collect::<Vec<_>>();
    assert_eq!(row_counts(&appender.finish().unwrap()), [3, 3, 1]);
    // Rows that are not wide still make one segment: a zone of these is 64 KiB.
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap().with_pending_bytes(256 << 10).with_plain_columns();
    for zone in 0..20 {
        appender.write(ints(zone * ZONE_ROWS as i64..(zone + 1) * ZONE_ROWS as i64)).unwrap();
    }
    let segments = appender.finish().unwrap();
    assert_eq!((row_counts(&segments), segments[0].batch_count), (vec![20 * ZONE_ROWS as u64], 20));
}

#[test]
fn a_large_batch_of_wide_rows_is_a_segment_by_itself() {
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &schema());
    let mut appender = store.appender(id, schema()).unwrap();
    appender.write(rows(0..1).0).unwrap();
    appender.write(rows(1..26).0).unwrap();
    appender.write(rows(26..27).0).unwrap();
    let segments = appender.finish().unwrap();
    assert_eq!(segments.iter().map(|segment| segment.row_count).collect::<Vec<_>>(), [26, 1]);
    assert!(segments.iter().all(|segment| segment.size_bytes < (segment.row_count + 1) * (4 << 20)));
}

#[test]
fn narrow_rows_before_wide_ones_keep_the_segment_that_they_are_in() {
    let (_dir, store) = fresh();
    let schema = Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, true)]));
    let texts = |count: usize, length: usize| {
        let batch = batch(vec![("text", strings(count, |row| row.to_string().repeat(length)))]);
        batch.with_schema(Arc::clone(&schema)).unwrap()
    };
    let id = create_table(&store, "t", &schema);
    let mut appender = store.appender(id, Arc::clone(&schema)).unwrap();
    let batches = [texts(17 * ZONE_ROWS, 2), texts(100, 1 << 19), texts(10, 2)];
    batches.iter().for_each(|batch| appender.write(batch.clone()).unwrap());
    let segments = appender.finish().unwrap();
    // First 16 zones alone, then the 17th with some of the wide rows, which then end the segment.
    assert_eq!(segments.iter().map(|segment| segment.row_count).collect::<Vec<_>>(), [17 * ZONE_ROWS as u64 + 100, 10]);
    commit(&store, id, segments);
    let read = read(&table(&store, "t"));
    assert_eq!(read, arrow::compute::concat_batches(&schema, &batches).unwrap());
}

fn around_hole(numbers: std::ops::Range<i64>, nulls: Option<Vec<bool>>) -> OtherColumns {
    let row_count = numbers.clone().count();
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    OtherColumns { columns: vec![Some(keys), None], offsets: None, row_count, nulls: nulls.map(NullBuffer::from) }
}

fn with_doubles(elements: Elements<'_>, make: impl FnOnce(&mut [f64])) -> Result<(), StoreError> {
    match elements {
        Elements::F64(elements) => make(elements),
        Elements::F32(_) => panic!("the column has doubles"),
    }
    Ok(())
}

#[test]
fn rows_made_in_place_read_back_equal() {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &schema());
    let mut appender = store.appender(id, schema()).unwrap();
    appender.write(rows(0..2).0).unwrap();
    let fill = |first: usize| {
        move |elements: &mut [f64]| {
            assert!(elements.as_ptr().addr().is_multiple_of(64) && elements.len().is_multiple_of(ELEMENTS));
            elements.chunks_mut(ELEMENTS).enumerate().for_each(|(row, block)| block.fill((first + row) as f64));
        }
    };
    appender.write_in_place(around_hole(2..7, None), |elements| with_doubles(elements, fill(2))).unwrap();
    appender.write_in_place(around_hole(7..9, Some(vec![true, false])), |elements| with_doubles(elements, fill(7))).unwrap();
    appender.write(rows(9..10).0).unwrap();
    let segments = appender.finish().unwrap();
    assert_eq!(segments.iter().map(|segment| segment.row_count).collect::<Vec<_>>(), [2, 5, 2, 1]);
    commit(&store, id, segments);
    let read = read(&table(&store, "t"));
    assert!(read.column(1).is_null(8) && read.column(1).null_count() == 1);
    (0..10).filter(|row| *row != 8).for_each(|row| {
        let block = read.column(1).as_fixed_size_list().value(row);
        assert_eq!(block.as_primitive::<Float64Type>().values(), &vec![row as f64; ELEMENTS]);
        assert_eq!(read.column(0).as_primitive::<Int64Type>().value(row), row as i64);
    });
    drop(store);
    // Like any other segment, it has a checksum for every byte and statistics of the keys.
    let store = open(dir.path());
    let report = store.check(&mut |_| {}).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let statistics = table(&store, "t").segments()[1].open().unwrap().statistics().column(0).max.clone();
    assert_eq!(statistics.as_primitive::<Int64Type>().value(0), 6);
}

#[test]
fn rows_made_in_place_are_gone_when_making_them_fails() {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &schema());
    let mut appender = store.appender(id, schema()).unwrap();
    appender.write_in_place(around_hole(0..1, None), |elements| with_doubles(elements, |elements| elements.fill(1.0))).unwrap();
    let failed = appender.write_in_place(around_hole(1..3, None), |_| Err(StoreError::Refused("no more".into())));
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    appender.write(rows(3..4).0).unwrap_err();
    appender.finish().unwrap_err();
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn only_one_column_of_lists_is_made_in_place() {
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &schema());
    let keys = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    let block = rows(0..1).0.column(1).clone();
    for columns in [vec![None, None], vec![None, Some(block.clone())], vec![Some(keys()), Some(block)]] {
        let mut appender = store.appender(id, schema()).unwrap();
        let refused =
            appender.write_in_place(OtherColumns { columns, offsets: None, row_count: 1, nulls: None }, |_| Ok::<(), StoreError>(()));
        assert!(refused.unwrap_err().to_string().contains("made in place"));
    }
    for row_count in [0, 16 * ZONE_ROWS + 1] {
        let mut appender = store.appender(id, schema()).unwrap();
        let rows = OtherColumns { columns: vec![Some(keys()), None], offsets: None, row_count, nulls: None };
        appender.write_in_place(rows, |_| Ok::<(), StoreError>(())).unwrap_err();
    }
}
