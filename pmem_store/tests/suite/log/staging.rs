//! Staged rows of many commits become one record when they are read or flushed.

use std::fs;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use pmem_store::StoreError;
use pmem_store::log::TailLog;
use pmem_store::region::{RegionError, RegionKind};
use pmem_store::segment::storable_schema;
use twox_hash::XxHash3_64;

use super::helpers::*;
use crate::helpers::{Random, batch, ints, strings};
use crate::types::{ROWS, flat_columns, named, nested_columns};

fn stage(log: &TailLog, rows: &RecordBatch, version: u64) -> bool {
    log.stage(rows, version).unwrap().is_some()
}

fn stage_ints(log: &TailLog, values: std::ops::Range<i64>) {
    for value in values {
        assert!(stage(log, &ints(value..value + 1), value as u64 + 1));
    }
}

/// The offsets of the records in the file.
fn records(log: &TailLog) -> Vec<usize> {
    let bytes = fs::read(log.path()).unwrap();
    let mut offsets = vec![first_record(&bytes)];
    while let Some(at) = offsets.last().copied().filter(|at| at + 64 <= bytes.len() && u64_at(&bytes, *at) > 0) {
        offsets.push(at + u64_at(&bytes, at) as usize);
    }
    offsets.pop();
    offsets
}

#[test]
fn rows_of_many_commits_are_one_record_and_each_is_read_at_its_version() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..1));
    stage_ints(&log, 1..100);
    assert_ints(&log, 0..100);
    assert_eq!(records(&log).len(), 2);
    let assert_versions = |log: &TailLog| {
        assert_eq!(log.versions(), (1..=100).map(|version| (version, 1)).collect::<Vec<_>>());
        for version in 1..=100 {
            let view = log.view(version).unwrap();
            assert_eq!(rows_of(&view), ints(0..version as i64));
            assert_eq!(log.rows_at(version), version);
        }
        assert_eq!(log.view(0).unwrap().row_count(), 0);
    };
    assert_versions(&log);
    log.flush(u64::MAX).unwrap();
    drop(log);
    assert_versions(&fixture.open_read_only(&always).unwrap());
    let log = fixture.open();
    assert_versions(&log);
    commit(&log, &ints(100..101));
    assert_ints(&log, 0..101);
}

#[test]
fn a_staged_row_becomes_a_record_when_it_is_read() {
    let (_fixture, log) = log_of_ints();
    for value in 0..10 {
        assert_eq!(log.stage(&ints(value..value + 1), value as u64 + 1).unwrap(), Some(true), "nobody waits before it");
        assert_eq!(records(&log).len(), value as usize);
        assert_ints(&log, 0..value + 1);
    }
    assert_eq!(log.stage(&ints(10..11), 11).unwrap(), Some(true));
    assert_eq!(log.stage(&ints(11..12), 12).unwrap(), Some(false));
    assert_eq!(rows_of(&log.view(10).unwrap()), ints(0..10));
    assert_eq!(records(&log).len(), 10, "an older version needs no newer rows");
    assert_eq!(log.rows_at(11), 11);
    assert_eq!(records(&log).len(), 10, "written, but for readers alone");
    assert_ints(&log, 0..12);
}

#[test]
fn appended_rows_come_after_staged_ones() {
    let (fixture, log) = log_of_ints();
    for round in 0..20 {
        let (first, version) = (round * 10, round as u64 * 10);
        for row in 0..9 {
            assert!(stage(&log, &ints(first + row..first + row + 1), version + row as u64 + 1));
        }
        commit(&log, &ints(first + 9..first + 10));
        assert_eq!(log.durable_bytes(), log.size_bytes(), "it took those before it along");
        assert!(log.append(&ints(0..1), version + 10, false).is_err(), "a version that was given");
        assert!(!stage(&log, &ints(0..1), version + 10));
    }
    drop(log);
    assert_ints(&fixture.open(), 0..200);
}

#[test]
fn after_a_flush_staged_rows_are_in_the_file() {
    let (fixture, log) = log_of_ints();
    stage_ints(&log, 0..50);
    log.flush(u64::MAX).unwrap();
    assert_ints(&fixture.open_read_only(&always).unwrap(), 0..50);
    stage_ints(&log, 50..60);
    assert_ints(&fixture.open_read_only(&always).unwrap(), 0..50);
}

#[test]
fn many_staged_rows_are_written_even_if_nobody_reads_them() {
    let fixture = Fixture::new(row(0).schema());
    let log = fixture.create(16 << 20, RegionKind::Auto);
    let text = |number: i64| {
        let text = arrow::compute::cast(row(number).column(1), &arrow::datatypes::DataType::Utf8View).unwrap();
        batch(vec![("v", row(number).column(0).clone()), ("text", text)])
    };
    assert!(!stage(&log, &row(0), 1), "texts that are no views are records of their own");
    let fixture = Fixture::new(text(0).schema());
    let log = fixture.create(16 << 20, RegionKind::Auto);
    (0..10_000).for_each(|number| assert!(stage(&log, &text(number), number as u64 + 1)));
    let written = records(&log).len();
    assert!(written >= 8, "{written}");
    let rows = fixture.open_read_only(&always).unwrap().rows_at(u64::MAX);
    assert!(10_000 - rows < 1_100, "{rows} rows of 256 bytes are in the file");
    assert!(log.size_bytes() < 10_000 * 320, "{} bytes", log.size_bytes());
}

#[test]
fn every_type_that_can_be_staged_reads_back_equal() {
    for column in flat_columns().into_iter().chain(nested_columns()) {
        let written = named(vec![column]);
        let schema = storable_schema(&written.schema()).unwrap();
        let fixture = Fixture::new(Arc::new(schema));
        let log = fixture.create(8 << 20, RegionKind::Auto);
        let pieces = [(0, 1), (1, 8), (9, 1), (10, 64), (74, ROWS - 74)].map(|(start, rows)| written.slice(start, rows));
        let waits: Vec<bool> = pieces.iter().zip(1..).map(|(piece, version)| stage(&log, piece, version)).collect();
        let data_type = written.column(0).data_type();
        let can_wait = data_type.is_primitive() || ["Boolean", "Utf8View", "BinaryView"].contains(&data_type.to_string().as_str());
        assert_eq!(waits, [can_wait; 5], "{data_type}");
        if can_wait {
            assert_eq!(all(&log).column(0), written.column(0), "{data_type}");
            drop(log);
            assert_eq!(fixture.open_read_only(&always).unwrap().versions().len(), 5);
        }
    }
}

#[test]
fn the_room_reserved_for_staged_rows_is_enough_in_any_log() {
    let mut random = Random(11);
    for round in 0..60 {
        let columns: Vec<_> = (0..1 + random.below(30)).map(|_| flat_columns().swap_remove(random.below(flat_columns().len()))).collect();
        let columns: Vec<_> = columns
            .into_iter()
            .filter(|column| column.data_type().is_primitive() || column.data_type().to_string().ends_with("View"))
            .collect();
        if columns.is_empty() {
            continue;
        }
        let written = named(columns);
        let fixture = Fixture::new(written.schema());
        let log = fixture.create(8192 << random.below(6), RegionKind::Plain);
        let mut expected = Vec::new();
        loop {
            let rows = 1 + random.below(5);
            let piece = written.slice(random.below(ROWS - rows), rows);
            if !stage(&log, &piece, expected.len() as u64 + 1) {
                break;
            }
            expected.push(piece);
            if random.below(20) == 0 {
                log.view(u64::MAX).unwrap();
            }
        }
        log.flush(u64::MAX).unwrap();
        assert_eq!(fixture.poison.reason(), None);
        drop(log);
        let log = fixture.open_read_only(&always).unwrap();
        assert_eq!(log.versions().len(), expected.len(), "round {round}");
        if !expected.is_empty() {
            assert_eq!(all(&log).columns(), concat_batches(&written.schema(), &expected).unwrap().columns());
        }
    }
}

#[test]
fn a_value_that_must_not_be_null_or_has_another_type_is_not_staged() {
    let (_fixture, log) = log_of_ints();
    assert!(!stage(&log, &batch(vec![("v", strings(1, |_| "x".into()))]), 1));
    assert!(!stage(&log, &row(0), 1));
    assert!(!stage(&log, &ints(0..65), 1), "many rows are a record of their own");
    assert!(!stage(&log, &ints(0..0), 1));
    assert_eq!(log.last_version(), None);
}

#[test]
fn staged_rows_that_cannot_be_written_stop_all_writing() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::SimulatedDax);
    commit(&log, &ints(0..3));
    assert!(stage(&log, &ints(3..4), 2));
    log.trace().unwrap().fail_next_flush();
    let is_region_error = |error: StoreError| assert!(matches!(error, StoreError::Region(_)), "{error}");
    is_region_error(log.view(2).unwrap_err());
    is_region_error(log.flush(u64::MAX).unwrap_err());
    let poisoned = |error: StoreError| assert!(matches!(error, StoreError::Region(RegionError::Poisoned { .. })), "{error}");
    poisoned(log.stage(&ints(4..5), 3).unwrap_err());
    poisoned(log.view(2).unwrap_err());
    assert_eq!(rows_of(&log.view(1).unwrap()), ints(0..3));
    assert!(fixture.poison.reason().is_some());
}

#[test]
fn the_bytes_beneath_a_null_are_not_kept() {
    let schema = Arc::new(Schema::new(vec![Field::new("s", DataType::Utf8View, true)]));
    let fixture = Fixture::new(Arc::clone(&schema));
    let log = fixture.create(1 << 20, RegionKind::Plain);
    // The view claims 5 bytes that are no text, with more behind them.
    let views = ScalarBuffer::from(vec![5u128 | 0xffff_ffff_ffff_u128 << 32]);
    let nulls = Some(NullBuffer::from(vec![false]));
    // SAFETY: no value is read where it is NULL; `the_bytes_beneath_a_null_are_not_kept` is this test.
    let array = unsafe { StringViewArray::new_unchecked(views, Vec::<Buffer>::new(), nulls) };
    assert!(stage(&log, &RecordBatch::try_new(schema, vec![Arc::new(array)]).unwrap(), 1));
    let rows = rows_of(&log.view(1).unwrap());
    assert_eq!((rows.num_rows(), rows.column(0).null_count()), (1, 1));
}

#[test]
fn a_failed_flush_leaves_older_versions_readable_beside_staged_rows() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::Simulated);
    commit(&log, &ints(0..3));
    assert!(stage(&log, &ints(3..4), 2));
    fixture.poison.poison("another file could not be flushed".into());
    assert_eq!(rows_of(&log.view(1).unwrap()), ints(0..3));
    assert!(log.view(2).is_err());
}

#[test]
fn a_shared_record_with_any_bit_flipped_is_gone_as_a_whole() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..1));
    stage_ints(&log, 1..4);
    log.flush(u64::MAX).unwrap();
    let (at, end) = (records(&log)[1], log.size_bytes() as usize);
    drop(log);
    let whole = fs::read(&fixture.path).unwrap();
    for byte in at..end {
        overwrite(&fixture.path, byte, &[whole[byte] ^ 1 << (byte % 8)]);
        assert_ints(&fixture.open_read_only(&always).unwrap(), 0..1);
        overwrite(&fixture.path, byte, &whole[byte..=byte]);
    }
    assert_ints(&fixture.open_read_only(&always).unwrap(), 0..4);
}

#[test]
fn a_whole_record_whose_commits_do_not_add_up_is_damage() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..1));
    stage_ints(&log, 1..4);
    log.flush(u64::MAX).unwrap();
    let (at, end) = (records(&log)[1], log.size_bytes() as usize);
    drop(log);
    let whole = fs::read(&fixture.path).unwrap();
    let entry = |index: usize, word: usize| end - 128 + index * 24 + word * 8;
    let changes =
        [(end - 8, 0), (end - 8, 2), (end - 8, u64::MAX), (entry(0, 0), 1), (entry(1, 0), 9), (entry(2, 2), 0), (entry(0, 2), u64::MAX)];
    for (place, value) in changes {
        let mut bytes = whole.clone();
        bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
        let payload = XxHash3_64::oneshot(&bytes[at + 64..end]);
        let covered = [&bytes[at + 16..at + 64], &payload.to_le_bytes()[..]].concat();
        bytes[at + 8..at + 16].copy_from_slice(&XxHash3_64::oneshot(&covered).to_le_bytes());
        overwrite(&fixture.path, 0, &bytes);
        let error = fixture.open_read_only(&always).unwrap_err();
        assert!(error.to_string().contains("not of the commits it names"), "{place} {value}: {error}");
    }
}

#[test]
fn readers_beside_a_writer_see_whole_prefixes_of_its_staged_rows() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let (_fixture, log) = log_of_ints();
    let visible = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while visible.load(Ordering::Acquire) < 3_000 {
                    let version = visible.load(Ordering::Acquire);
                    let rows = rows_of(&log.view(version).unwrap());
                    let values = rows.column(0).as_primitive::<Int64Type>().values();
                    assert!(values.iter().copied().eq(0..version as i64));
                }
            });
        }
        for value in 0..3_000 {
            if !stage(&log, &ints(value..value + 1), value as u64 + 1) {
                log.append(&ints(value..value + 1), value as u64 + 1, false).unwrap();
            }
            visible.store(value as u64 + 1, Ordering::Release);
        }
    });
    assert_ints(&log, 0..3_000);
}
