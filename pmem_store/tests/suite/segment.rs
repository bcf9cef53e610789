//! How rows become segments: casts, slices, batches and sizes.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::*;
use pmem_store::region::{PoisonFlag, RegionError};
use pmem_store::segment::SegmentWriter;
use pmem_store::{RegionKind, StoreError, ZONE_ROWS};

use crate::helpers::*;
use crate::types::{list_of, map_of, named, numbers, struct_of};

#[test]
fn a_batch_of_no_columns_keeps_its_row_count() {
    let (_dir, store) = store_with(&[ints(0..50)]);
    let batch = segment(&store).batch(0, &[]).unwrap();
    assert_eq!((batch.num_columns(), batch.num_rows()), (0, 50));
}

#[test]
fn dictionaries_that_overflow_their_keys_together_are_written() {
    let data_type = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let batches: Vec<RecordBatch> =
        (0..4).map(|part| named(vec![cast(&strings(100, |row| format!("value {part} {row}")), &data_type).unwrap()])).collect();
    let (_dir, store) = store_with(&batches);
    assert_eq!(read(&table(&store, "t")).column(0), &strings(400, |row| format!("value {} {}", row / 100, row % 100)));
}

#[test]
fn batches_of_other_types_are_cast_to_the_physical_type() {
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &ints(0..1).schema());
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(ints(0..2)).unwrap();
    appender.write(named(vec![Arc::new(Int32Array::from(vec![2, 3]))])).unwrap();
    assert_eq!(appender.finish().unwrap()[0].row_count, 4);
}

#[test]
fn a_value_that_does_not_fit_the_physical_type_is_an_error_and_not_null() {
    let (_dir, store) = fresh();
    let schema = named(vec![Arc::new(Int8Array::from(vec![1]))]).schema();
    let id = create_table(&store, "t", &schema);
    let mut appender = store.appender(id, schema).unwrap();
    appender.write(ints(0..1_000)).unwrap();
    assert!(appender.finish().unwrap_err().to_string().contains("128"));
}

#[test]
fn a_batch_with_another_number_of_columns_is_an_error() {
    let (_dir, store) = fresh();
    let schema = named(vec![numbers(1), numbers(1)]).schema();
    let id = create_table(&store, "t", &schema);
    let mut appender = store.appender(id, schema).unwrap();
    let error = appender.write(ints(0..2)).unwrap_err().to_string();
    assert!(error.contains("1 columns") && error.contains('2'), "{error}");
}

#[test]
fn a_null_in_a_column_declared_without_is_an_error_that_leaves_no_file() {
    let (dir, store) = fresh();
    let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, false)]));
    let id = create_table(&store, "t", &schema);
    let mut appender = store.appender(id, schema).unwrap();
    appender.write(named(vec![numbers(10)])).unwrap();
    assert!(appender.finish().unwrap_err().to_string().contains("non-nullable"));
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn a_slice_of_views_does_not_write_the_buffers_behind_it() {
    let rows = 50_000;
    let views = cast(&strings(rows, |row| format!("a long string that is not inlined {row}")), &DataType::Utf8View).unwrap();
    let list = list_of::<i32>(rows / 2, Arc::clone(&views));
    let written = named(vec![views.slice(999, 100), list.slice(999, 100), struct_of(vec![views]).slice(999, 100)]);
    let (_dir, store) = store_with(std::slice::from_ref(&written));
    assert_eq!(read(&table(&store, "t")), written);
    let size_bytes = segment(&store).size_bytes();
    assert!(size_bytes < 40_000, "{size_bytes} bytes");
}

#[test]
fn a_slice_of_lists_does_not_write_the_values_outside_it() {
    let list = list_of::<i64>(50_000, numbers(200_000));
    let map = map_of(50_000, numbers(100_000));
    let (_dir, store) = store_with(&[named(vec![list.slice(40_000, 10), map.slice(40_000, 10)])]);
    let size_bytes = segment(&store).size_bytes();
    assert!(size_bytes < 8_000, "{size_bytes} bytes");
}

#[test]
fn every_batch_but_the_last_is_a_multiple_of_the_zone() {
    let batches: Vec<RecordBatch> = (0..40).map(|part| ints(part * 7_777..(part + 1) * 7_777)).collect();
    let (_dir, store) = store_with(&batches);
    let segment = segment(&store);
    assert_eq!(segment.row_count(), 40 * 7_777);
    assert_eq!(segment.batch_count(), 3);
    let ends: Vec<usize> = (0..3).map(|index| segment.batch_rows(index).end).collect();
    assert_eq!(ends, [16 * ZONE_ROWS, 32 * ZONE_ROWS, 40 * 7_777]);
    assert_eq!(segment.statistics().zone_count(), (40 * 7_777_usize).div_ceil(ZONE_ROWS));
    assert_eq!(segment.statistics().row_counts().values().last(), Some(&((40 * 7_777 % ZONE_ROWS) as u64)));
    assert_eq!(read_segment(&segment), concat_batches(&segment.schema().clone(), &batches).unwrap());
}

#[test]
fn a_write_past_the_target_size_goes_on_in_the_next_segment() {
    let (_dir, store) = fresh();
    let id = create_table(&store, "t", &ints(0..1).schema());
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap().with_target_bytes(6 << 20).with_plain_columns();
    appender.write(ints(0..1_000_000)).unwrap();
    let segments = appender.finish().unwrap();
    // These are 8 MB of values: slices of one large batch count with what they show.
    assert_eq!(segments.len(), 2);
    assert!(segments.iter().all(|segment| segment.size_bytes <= 6 << 20));
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments.clone(), false).unwrap();
    transaction.commit("INSERT").unwrap();
    assert_eq!(read_ints(&table(&store, "t")), (0..1_000_000).collect::<Vec<i64>>());
}

#[test]
fn a_schema_of_megabytes_is_written() {
    let comment = "x".repeat(3 << 20);
    let field = Field::new("v", DataType::Int64, true).with_metadata([("comment".to_string(), comment)].into());
    let schema = Arc::new(Schema::new(vec![field]));
    let written = RecordBatch::try_new(schema, ints(0..10).columns().to_vec()).unwrap();
    let (_dir, store) = store_with(std::slice::from_ref(&written));
    assert_eq!(read(&table(&store, "t")), written);
}

#[test]
fn a_segment_lies_as_the_format_says() {
    let (_dir, store) = plain_store_with(&[ints(0..200_000)]);
    let bytes = std::fs::read(segment(&store).path()).unwrap();
    assert_eq!(&bytes[..8], b"ARROW1\0\0");
    assert_eq!(&bytes[8..64], [0; 56]);
    // The schema message: a continuation mark and a length that ends at a multiple of 64.
    assert_eq!(&bytes[64..68], [0xff; 4]);
    let length = u32::from_le_bytes(bytes[68..72].try_into().unwrap()) as usize;
    let first_batch = 72 + length;
    assert_eq!(first_batch % 64, 0);
    assert_eq!(&bytes[first_batch..first_batch + 4], [0xff; 4]);
    let length = u32::from_le_bytes(bytes[first_batch + 4..first_batch + 8].try_into().unwrap()) as usize;
    // There is no validity buffer; the values follow.
    let values = first_batch + 8 + length;
    assert_eq!(values % 64, 0);
    assert_eq!(&bytes[values + 8..values + 16], 1i64.to_le_bytes());
    let end = bytes.len();
    assert_eq!(&bytes[end - 6..], b"ARROW1");
    let footer = u32::from_le_bytes(bytes[end - 10..end - 6].try_into().unwrap()) as usize;
    assert_eq!(&bytes[end - 10 - footer - 8..end - 10 - footer], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
}

#[test]
fn a_zone_has_buffers_of_its_own_size_and_the_same_rows() {
    let rows = 3 * ZONE_ROWS;
    let columns = vec![
        ("number", Arc::new(Int64Array::from_iter((0..rows as i64).map(|row| (row % 7 != 0).then_some(row)))) as ArrayRef),
        ("text", strings(rows, |row| format!("a text that is not inlined {row}"))),
    ];
    let (_dir, store) = plain_store_with(&[batch(columns)]);
    let segment = segment(&store);
    let whole = segment.batch(0, &[0, 1]).unwrap();
    let zone = segment.zone(&whole, ZONE_ROWS, ZONE_ROWS).unwrap();
    assert_eq!(zone, whole.slice(ZONE_ROWS, ZONE_ROWS));
    let numbers = zone.column(0).to_data();
    assert_eq!(numbers.buffers()[0].capacity(), ZONE_ROWS * 8);
    let base = segment.mapping().unwrap().as_ptr() as usize;
    let at = numbers.buffers()[0].as_ptr() as usize;
    assert!((base..base + segment.mapping().unwrap().len()).contains(&at));
}

#[test]
fn a_segment_whose_schema_does_not_fit_says_so_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("1.arrow");
    let schema = ints(0..1).schema();
    for kind in [RegionKind::Auto, RegionKind::Plain, RegionKind::Simulated] {
        // There is no room for the first bytes, or none for the schema.
        for capacity_bytes in [4, 100] {
            let new = SegmentWriter::create(&path, 1, Arc::clone(&schema), &schema, capacity_bytes, kind, &PoisonFlag::new());
            let error = new.err().unwrap();
            let is_full = matches!(error, StoreError::Region(RegionError::OutOfBounds { .. }));
            assert!(is_full, "{kind:?}, {capacity_bytes} bytes: {error}");
            assert_eq!(files_below(dir.path()).len(), 0);
        }
    }
}

#[test]
fn a_segment_that_is_too_small_or_poisoned_says_so_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("1.arrow");
    let poison = PoisonFlag::new();
    let new = || {
        let schema = ints(0..1).schema();
        SegmentWriter::create(&path, 1, Arc::clone(&schema), &schema, 4_000, RegionKind::Plain, &poison).unwrap()
    };
    let mut writer = new();
    let error = writer.write(&ints(0..10_000), &ints(0..10_000)).unwrap_err();
    assert!(matches!(error, StoreError::Region(RegionError::OutOfBounds { .. })), "{error}");
    writer.write(&ints(0..1), &ints(0..1)).unwrap_err();
    writer.seal().unwrap_err();
    assert_eq!(files_below(dir.path()).len(), 0);

    let mut writer = new();
    writer.write(&ints(0..10), &ints(0..10)).unwrap();
    poison.poison("the disk failed".into());
    let error = writer.seal().unwrap_err();
    assert!(matches!(error, StoreError::Region(RegionError::Poisoned { .. })), "{error}");
    assert_eq!(files_below(dir.path()).len(), 0);
}

/// Rows wait in memory until there are enough, so a value that does not fit may be noticed late; the
/// rows that waited with it are lost then.
#[test]
fn after_rows_were_refused_none_of_a_write_can_be_finished() {
    let (dir, store) = fresh();
    let schema = named(vec![Arc::new(Int8Array::from(vec![1]))]).schema();
    let id = create_table(&store, "t", &schema);
    let mut appender = store.appender(id, schema).unwrap();
    let fits = || named(vec![Arc::new(Int64Array::from_value(1, 16 * ZONE_ROWS))]);
    appender.write(fits()).unwrap();
    assert_eq!(segment_files(dir.path()).len(), 1);
    let mut values = vec![1; 16 * ZONE_ROWS + 10];
    values[77] = 128;
    let too_great = named(vec![Arc::new(Int64Array::from(values))]);
    assert!(appender.write(too_great).unwrap_err().to_string().contains("128"));
    let again = appender.write(fits()).unwrap_err().to_string();
    assert!(again.contains("write all of them again"), "{again}");
    appender.finish().unwrap_err();
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn a_mapping_that_nobody_reads_is_given_back_and_the_rows_are_read_again() {
    let (_dir, store) = store_with(&[ints(0..1_000)]);
    let segment = segment(&store);
    let before = segment.batch(0, &[0]).unwrap();
    assert!(!segment.release_mapping(), "an array of it is held");
    let copy: Vec<i64> = before.column(0).as_primitive::<Int64Type>().values().to_vec();
    drop(before);
    assert!(segment.release_mapping());
    assert!(segment.release_mapping(), "there is nothing to give back");
    let after = segment.batch(0, &[0]).unwrap();
    assert_eq!(after.column(0).as_primitive::<Int64Type>().values().to_vec(), copy);
    assert!(segment.mapping().unwrap().contains(after.column(0).to_data().buffers()[0].as_ptr(), 8_000));
}

#[test]
fn a_file_that_was_exchanged_while_it_was_not_mapped_is_refused_by_its_length() {
    let (_dir, store) = store_with(&[ints(0..1_000)]);
    let segment = segment(&store);
    assert!(segment.release_mapping());
    std::fs::write(segment.path(), b"another").unwrap();
    let error = segment.batch(0, &[0]).unwrap_err().to_string();
    assert!(error.contains("has 7 bytes where the catalog says"), "{error}");
}
