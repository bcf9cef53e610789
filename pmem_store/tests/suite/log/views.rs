//! What a reader sees, and what it keeps alive.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use pmem_store::ZONE_ROWS;
use pmem_store::region::RegionKind;

use super::helpers::*;
use crate::helpers::{Random, ints};

#[test]
fn a_view_shows_its_version_whatever_is_appended_later() {
    let (_fixture, log) = log_of_ints();
    commit(&log, &ints(0..4));
    commit(&log, &ints(4..6));
    let (first, second) = (log.view(1).unwrap(), log.view(2).unwrap());
    commit(&log, &ints(6..9));
    assert_eq!(rows_of(&second), ints(0..6));
    // The view is of a chunk that was combined for others.
    assert_eq!(rows_of(&log.view(3).unwrap()), ints(0..9));
    assert_eq!(rows_of(&first), ints(0..4));
    assert_eq!(rows_of(&second), ints(0..6));
    assert_eq!(rows_of(&log.view(0).unwrap()).num_rows(), 0);
}

#[test]
fn rows_are_readable_before_they_are_flushed() {
    let (_fixture, log) = log_of_ints();
    for value in 0..100 {
        log.append(&ints(value..value + 1), value as u64 + 1, false).unwrap();
        assert_eq!(log.view(u64::MAX).unwrap().row_count(), value as u64 + 1);
    }
    assert_ints(&log, 0..100);
    assert_eq!(log.durable_bytes(), 4096);
}

#[test]
fn rows_of_one_record_are_handed_out_where_they_lie() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(8 << 20, RegionKind::Auto);
    let rows = 5 * ZONE_ROWS as i64 + 17;
    commit(&log, &ints(0..rows));
    let view = log.view(u64::MAX).unwrap();
    for (start, chunk) in view.chunks().unwrap() {
        let data = chunk.column(0).to_data();
        let buffer = &data.buffers()[0];
        assert!(view.mapping().contains(buffer.as_ptr(), buffer.len()));
        // For memory accounting, a chunk is no larger than what it shows.
        assert_eq!(buffer.capacity(), chunk.num_rows() * 8);
        assert_eq!(chunk, ints(start as i64..start as i64 + chunk.num_rows() as i64));
    }
}

#[test]
fn a_chunk_of_many_records_is_put_together_once() {
    let (_fixture, log) = log_of_ints();
    for value in 0..100 {
        log.append(&ints(value..value + 1), value as u64 + 1, false).unwrap();
    }
    let address = |batch: &RecordBatch| batch.column(0).to_data().buffers()[0].as_ptr();
    let first = log.view(100).unwrap().chunk(0).unwrap();
    assert_eq!(address(&first), address(&log.view(100).unwrap().chunk(0).unwrap()));
    assert_eq!(address(&first), address(&log.view(60).unwrap().chunk(0).unwrap()));
}

#[test]
fn records_of_any_size_give_the_same_chunks_at_every_version() {
    let fixture = Fixture::new(row(0).schema());
    let log = fixture.create(64 << 20, RegionKind::Auto);
    let mut random = Random(11);
    let mut next = 0;
    let mut expected = Vec::new();
    for _ in 0..120 {
        let rows = [1, 2, 7, 500, 8_191, 8_192, 9_000][random.below(7)].min(1 + random.below(9_000));
        let rows: Vec<RecordBatch> = (0..rows).map(|at| row(next + at as i64)).take(40).collect();
        next += rows.len() as i64;
        let record = concat_batches(&rows[0].schema(), &rows).unwrap();
        expected.push((commit(&log, &record), next));
        if random.below(4) == 0 {
            let (version, rows) = expected[random.below(expected.len())];
            let batch = rows_of(&log.view(version).unwrap());
            assert_eq!(batch.num_rows() as i64, rows);
            assert_eq!(batch.slice(batch.num_rows() - 1, 1), row(rows - 1));
        }
    }
    assert_ints(&log, 0..next);
}

#[test]
fn a_view_outlives_the_log_and_its_file() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..9_000));
    commit(&log, &ints(9_000..9_010));
    let view = log.view(u64::MAX).unwrap();
    let chunk = view.chunk(0).unwrap();
    drop(log);
    std::fs::remove_file(&fixture.path).unwrap();
    assert_eq!(rows_of(&view), ints(0..9_010));
    drop(view);
    assert_eq!(chunk, ints(0..8_192));
}

#[test]
fn a_log_that_was_cut_short_is_an_error_for_its_readers() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..20_000));
    let view = log.view(u64::MAX).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&fixture.path).unwrap();
    file.set_len(8192).unwrap();
    let error = view.chunks().err().or_else(|| {
        // No read has touched the missing part yet.
        let chunk = view.chunk(2).unwrap();
        assert_eq!(chunk.column(0).null_count(), 0);
        assert_ne!(chunk, ints(16_384..20_000));
        view.check_intact().err()
    });
    assert!(error.unwrap().to_string().contains("cut short"));
    drop(log);
    let error = fixture.open_as(RegionKind::Auto, &always).unwrap_err();
    assert!(error.to_string().contains("it has 8192 bytes"), "{error}");
}

#[test]
fn memory_of_a_log_of_small_records_is_bounded_by_its_rows() {
    let fixture = Fixture::new(row(0).schema());
    let log = fixture.create(32 << 20, RegionKind::Auto);
    for number in 0..20_000 {
        log.append(&row(number), number as u64 + 1, false).unwrap();
    }
    let chunks = log.view(u64::MAX).unwrap().chunks().unwrap();
    let bytes: usize = chunks.iter().map(|(_, chunk)| chunk.get_array_memory_size()).sum();
    assert!(bytes < 20_000 * 300, "{bytes}");
    // The combined rows do not keep the file mapped.
    let column = Arc::clone(chunks[0].1.column(1));
    let mapping = Arc::clone(log.view(0).unwrap().mapping());
    assert!(column.to_data().buffers().iter().all(|buffer| !mapping.contains(buffer.as_ptr(), buffer.len())));
}
