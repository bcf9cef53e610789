//! What may be appended, and when a log is full.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use pmem_store::log::{AppendError, LogIdentity, TailLog};
use pmem_store::region::{Mode, RegionError, RegionKind, detect_mode};
use pmem_store::{StoreError, ZONE_ROWS};

use super::helpers::*;
use crate::child::{in_child, rerun};
use crate::helpers::ints;

#[test]
fn appended_rows_have_the_positions_that_append_returns() {
    let (_fixture, log) = log_of_ints();
    let first = log.append(&ints(0..3), 5, false).unwrap();
    let second = log.append(&ints(3..10), 8, false).unwrap();
    assert_eq!((first.rows, second.rows), (0..3, 3..10));
    assert_eq!(second.end_offset, log.size_bytes());
    assert_ints(&log, 0..10);
    assert_eq!(log.versions(), [(5, 3), (8, 7)]);
    assert_eq!((log.rows_at(4), log.rows_at(5), log.rows_at(7), log.rows_at(8)), (0, 3, 3, 10));
    assert_eq!(log.last_version(), Some(8));
}

#[test]
fn versions_only_increase() {
    let (_fixture, log) = log_of_ints();
    commit(&log, &ints(0..1));
    for version in [0, 1] {
        let error = log.append(&ints(1..2), version, false).unwrap_err();
        assert!(matches!(error, AppendError::Version { last: 1, .. }), "{error}");
    }
    assert_ints(&log, 0..1);
}

#[test]
fn a_record_without_rows_is_refused() {
    let (_fixture, log) = log_of_ints();
    let error = log.append(&ints(0..0), 1, false).unwrap_err();
    assert!(error.to_string().contains("at least one row"), "{error}");
}

#[test]
fn a_full_log_refuses_more_and_keeps_what_it_has() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(64 << 10, RegionKind::Auto);
    let mut next = 0;
    let error = loop {
        match log.append(&ints(next..next + 1), next as u64 + 1, false) {
            Ok(_) => next += 1,
            Err(error) => break error,
        }
    };
    let AppendError::Full { needed_bytes, free_bytes } = error else { panic!("{error}") };
    assert!(free_bytes < needed_bytes && log.capacity_bytes() - log.size_bytes() == free_bytes);
    assert!(next > 100);
    assert_ints(&log, 0..next);
    log.flush(log.size_bytes()).unwrap();
    drop(log);
    let log = fixture.open();
    assert_ints(&log, 0..next);
    log.append(&ints(0..1), u64::MAX, false).unwrap_err();
}

#[test]
fn a_log_may_be_filled_to_its_last_byte() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(8 << 10, RegionKind::Auto);
    let small = log.prepare(&ints(0..1)).unwrap().size_bytes();
    let room = log.capacity_bytes() - log.size_bytes();
    // Each 8 rows more make a record larger by 64 bytes.
    let rows = 8 * (room - small) as i64 / 64;
    let last = log.append(&ints(0..rows + 8), 1, false).unwrap();
    assert_eq!(last.end_offset, log.capacity_bytes());
    log.flush(last.end_offset).unwrap();
    drop(log);
    assert_ints(&fixture.open(), 0..rows + 8);
}

#[test]
fn rows_for_which_a_log_is_too_small_leave_it_as_it_was() {
    let (_fixture, log) = log_of_ints();
    let error = log.append(&ints(0..200_000), 1, false).unwrap_err();
    assert!(matches!(error, AppendError::Full { needed_bytes: 1_600_000.., .. }), "{error}");
    commit(&log, &ints(0..100));
    assert_ints(&log, 0..100);
}

#[test]
fn a_record_prepared_for_one_log_goes_into_the_next() {
    let (first, second) = (log_of_ints(), log_of_ints());
    let mut record = first.1.prepare(&ints(0..5)).unwrap();
    assert_eq!(record.row_count(), 5);
    first.1.append_prepared(&mut record, 3, false).unwrap();
    let appended = second.1.append_prepared(&mut record, 9, false).unwrap();
    assert_eq!(appended.end_offset - 4096, record.size_bytes());
    second.1.flush(appended.end_offset).unwrap();
    drop(second.1);
    assert_ints(&second.0.open(), 0..5);
}

#[test]
fn large_records_and_small_ones_follow_each_other() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(16 << 20, RegionKind::Auto);
    let mut next = 0;
    for rows in [1, 100_000, 3, 1, 200_000, 8_192, 5] {
        commit(&log, &ints(next..next + rows));
        next += rows;
    }
    assert_ints(&log, 0..next);
    drop(log);
    let log = fixture.open();
    commit(&log, &ints(next..next + 1));
    assert_ints(&log, 0..next + 1);
}

#[test]
fn a_hundred_thousand_single_rows_read_back_in_order() {
    const ROWS: i64 = 100_000;
    let fixture = Fixture::new(row(0).schema());
    let log = fixture.create(128 << 20, RegionKind::Auto);
    for number in 0..ROWS {
        log.append(&row(number), number as u64 + 1, false).unwrap();
    }
    log.flush(log.size_bytes()).unwrap();
    assert_ints(&log, 0..ROWS);
    let view = log.view(50_000).unwrap();
    assert_eq!((view.row_count(), view.chunk_count()), (50_000, 50_000_usize.div_ceil(ZONE_ROWS)));
    drop(log);
    let log = fixture.open();
    assert_eq!(log.versions().len(), ROWS as usize);
    assert_eq!(values(&log).len(), ROWS as usize);
    assert_ints(&log, 0..ROWS);
}

#[test]
fn all_bytes_of_a_log_are_reserved_when_it_is_made() {
    for kind in [RegionKind::Auto, RegionKind::Plain] {
        let fixture = Fixture::new(ints(0..1).schema());
        let _log = fixture.create(1 << 20, kind);
        assert!(fixture.path.metadata().unwrap().blocks() * 512 >= 1 << 20);
    }
}

#[test]
fn a_log_that_cannot_be_made_leaves_no_file() {
    let fixture = Fixture::new(ints(0..1).schema());
    let create = |capacity| {
        let schema = Arc::clone(&fixture.schema);
        TailLog::create(&fixture.path, IDENTITY, schema, capacity, RegionKind::Auto, &fixture.poison)
    };
    let error = create(1 << 50).unwrap_err();
    assert!(matches!(error, StoreError::Region(RegionError::NoSpace { .. })), "{error}");
    assert!(!fixture.path.exists());
    drop(create(1 << 20).unwrap());
    let error = create(1 << 20).unwrap_err();
    assert!(matches!(error, StoreError::Region(RegionError::Exists { .. })), "{error}");
    fixture.open();
}

#[test]
fn a_log_of_another_schema_is_not_opened() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..3));
    drop(log);
    let open = |identity: LogIdentity, schema: arrow::datatypes::SchemaRef| {
        TailLog::open(&fixture.path, identity, schema, RegionKind::Auto, &fixture.poison, &always)
    };
    let error = open(IDENTITY, row(0).schema()).unwrap_err();
    assert!(error.to_string().contains("other columns"), "{error}");
    for other in [LogIdentity { table: 8, ..IDENTITY }, LogIdentity { log: 8, ..IDENTITY }, LogIdentity { schema_version: 8, ..IDENTITY }] {
        let error = open(other, ints(0..1).schema()).unwrap_err();
        assert!(error.to_string().contains("where the catalog says"), "{error}");
    }
    assert_ints(&fixture.open(), 0..3);
}

/// It tests the code path of persistent memory, not its durability: that needs the hardware or a virtual
/// machine.
#[test]
fn the_dax_path_of_a_log_writes_the_same_records() {
    if matches!(detect_mode(&std::env::temp_dir(), RegionKind::Libpmem), Err(RegionError::NoLibpmem { .. })) {
        return eprintln!("libpmem is not installed here: not tested");
    }
    let test = "log::appending::the_dax_path_of_a_log_writes_the_same_records";
    if !in_child() {
        return assert!(rerun(test, &[("PMEM_IS_PMEM_FORCE", "1")]).success());
    }
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::Libpmem);
    if detect_mode(fixture.dir.path(), RegionKind::Plain).unwrap() == Mode::Msync {
        assert_eq!(log.mode(), Some(Mode::Dax));
        // On this path a record is durable once it is appended.
        let appended = log.append(&ints(0..10), 1, false).unwrap();
        assert_eq!(log.durable_bytes(), appended.end_offset);
    } else {
        commit(&log, &ints(0..10));
    }
    commit(&log, &ints(10..20_000));
    let plain = Fixture::new(ints(0..1).schema());
    let other = plain.create(1 << 20, RegionKind::Plain);
    commit(&other, &ints(0..10));
    commit(&other, &ints(10..20_000));
    assert_eq!(record_offsets(&log), record_offsets(&other));
    assert_ints(&log, 0..20_000);
    drop(log);
    let log = fixture.open_as(RegionKind::Libpmem, &always).unwrap();
    commit(&log, &ints(20_000..20_001));
    drop(log);
    // The rows were written by stores, and any reader can read them.
    assert_ints(&fixture.open_as(RegionKind::Plain, &always).unwrap(), 0..20_001);
}
