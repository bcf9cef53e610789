//! Where a log ends after a crash, and what never comes back.

use std::fs;

use pmem_store::log::AppendError;
use pmem_store::region::RegionKind;
use pmem_store::{StoreError, ZONE_ROWS};

use super::helpers::*;
use crate::helpers::ints;

/// Records of one row each, of the same length, flushed and closed.
fn log_of_records(records: i64) -> (Fixture, Vec<usize>) {
    let (fixture, log) = log_of_ints();
    for value in 0..records {
        commit(&log, &ints(value..value + 1));
    }
    let offsets = record_offsets(&log);
    (fixture, offsets)
}

/// The values found if the file has these bytes; readers and the writer find the same.
fn found_in(fixture: &Fixture, bytes: &[u8]) -> Vec<i64> {
    overwrite(&fixture.path, 0, bytes);
    let ints = values(&fixture.open_read_only(&always).unwrap());
    assert_eq!(fs::read(&fixture.path).unwrap(), bytes, "a reader writes nothing");
    // It is simulated, because so many real flushes take a while.
    assert_eq!(values(&fixture.open_as(RegionKind::Simulated, &always).unwrap()), ints);
    ints
}

#[test]
fn a_log_that_was_closed_goes_on_where_it_ended() {
    let (fixture, log) = log_of_ints();
    drop(log);
    for round in 0..5 {
        let log = fixture.open();
        assert_ints(&log, 0..round * 2);
        assert_eq!(log.durable_bytes(), log.size_bytes());
        commit(&log, &ints(round * 2..round * 2 + 1));
        commit(&log, &ints(round * 2 + 1..round * 2 + 2));
        assert_eq!(log.last_version(), Some(round as u64 * 2 + 2));
    }
    assert_ints(&fixture.open(), 0..10);
}

#[test]
fn a_log_ends_before_a_record_with_any_bit_flipped() {
    let (fixture, offsets) = log_of_records(4);
    let whole = fs::read(&fixture.path).unwrap();
    for at in offsets[0]..offsets[4] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let record = offsets.iter().rposition(|offset| *offset <= at).unwrap() as i64;
        assert_eq!(found_in(&fixture, &bytes), (0..record).collect::<Vec<_>>(), "byte {at}");
    }
}

#[test]
fn a_log_ends_before_a_record_of_which_a_part_is_missing() {
    let (fixture, offsets) = log_of_records(4);
    let whole = fs::read(&fixture.path).unwrap();
    for record in 0..4 {
        let expected: Vec<i64> = (0..record as i64).collect();
        let range = offsets[record]..offsets[record + 1];
        for at in range.clone().step_by(8) {
            // A tail of the record did not arrive, or only its end did, or one store is missing.
            let missing = [at..range.end, range.start..at + 8, at..at + 8];
            for missing in missing {
                let mut bytes = whole.clone();
                if bytes[missing.clone()].iter().all(|byte| *byte == 0) {
                    continue;
                }
                bytes[missing].fill(0);
                assert_eq!(found_in(&fixture, &bytes), expected, "record {record} at {at}");
            }
        }
    }
}

#[test]
fn bytes_behind_the_end_do_not_count() {
    let (fixture, offsets) = log_of_records(3);
    let whole = fs::read(&fixture.path).unwrap();
    let end = offsets[3];
    for record in 0..3 {
        // A record of the log again, behind the end.
        let mut bytes = whole.clone();
        bytes.copy_within(offsets[record]..offsets[record + 1], end);
        assert_eq!(found_in(&fixture, &bytes), [0, 1, 2]);
    }
    let mut bytes = whole.clone();
    bytes[end..].fill(0xff);
    assert_eq!(found_in(&fixture, &bytes), [0, 1, 2]);
    // A record of another log with the same rows.
    let (other, other_offsets) = log_of_records(4);
    let mut bytes = whole;
    let foreign = fs::read(&other.path).unwrap();
    let record = &foreign[other_offsets[3]..other_offsets[4]];
    bytes[end..end + record.len()].copy_from_slice(record);
    assert_eq!(found_in(&fixture, &bytes), [0, 1, 2]);
}

/// The record behind the damage is valid, and the one that replaces the damaged record has
/// the same bytes in every row and version.
#[test]
fn a_record_left_behind_by_a_crash_never_comes_back() {
    for damaged_at in [0, 8, 40, 100, 300] {
        let (fixture, offsets) = log_of_records(3);
        let damaged_at = offsets[1] + damaged_at;
        // It must become another value: some bytes differ from log to log.
        let was = fs::read(&fixture.path).unwrap()[damaged_at];
        overwrite(&fixture.path, damaged_at, &[!was]);
        let log = fixture.open();
        assert_ints(&log, 0..1);
        assert_eq!(commit(&log, &ints(1..2)), 2);
        assert_eq!(log.size_bytes(), offsets[2] as u64);
        drop(log);
        let log = fixture.open();
        assert_ints(&log, 0..2);
        commit(&log, &ints(70..71));
        drop(log);
        assert_eq!(values(&fixture.open()), [0, 1, 70]);
    }
}

#[test]
fn a_record_that_waits_for_the_catalog_counts_only_if_the_catalog_has_its_version() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..3));
    let appended = log.append(&ints(3..6), 9, true).unwrap();
    // In the process it is readable at once, like any other record.
    assert_ints(&log, 0..6);
    log.flush(appended.end_offset).unwrap();
    drop(log);
    let before = fs::read(&fixture.path).unwrap();
    let versions = std::cell::RefCell::new(Vec::new());
    let is_committed = |version| {
        versions.borrow_mut().push(version);
        version == 9
    };
    assert_ints(&fixture.open_read_only(&is_committed).unwrap(), 0..6);
    assert_ints(&fixture.open_as(RegionKind::Auto, &is_committed).unwrap(), 0..6);
    assert_eq!(versions.into_inner(), [9, 9], "only such records are asked for");
    assert_ints(&fixture.open_read_only(&|_| false).unwrap(), 0..3);
    assert_eq!(fs::read(&fixture.path).unwrap(), before);
    // Once the writer was told no, the record is gone, even if the catalog assigns the version again.
    let log = fixture.open_as(RegionKind::Auto, &|_| false).unwrap();
    assert_ints(&log, 0..3);
    drop(log);
    let log = fixture.open();
    assert_ints(&log, 0..3);
    log.append(&ints(3..4), 9, true).unwrap();
    let end = log.append(&ints(4..5), 10, false).unwrap().end_offset;
    log.flush(end).unwrap();
    drop(log);
    assert_ints(&fixture.open(), 0..5);
}

#[test]
fn a_record_taken_back_is_gone_and_its_place_is_not_used_again() {
    for flush in [false, true] {
        let (fixture, log) = log_of_ints();
        commit(&log, &ints(0..3));
        let appended = log.append(&ints(3..6), 2, true).unwrap();
        let reader = log.view(2).unwrap();
        if flush {
            log.flush(appended.end_offset).unwrap();
        }
        assert!(!log.retract(1).unwrap(), "not the last one");
        assert!(log.retract(2).unwrap());
        assert_ints(&log, 0..3);
        assert_eq!(log.last_version(), Some(1));
        let error = log.append(&ints(3..4), 2, false).unwrap_err();
        assert!(matches!(error, AppendError::Full { free_bytes: 0, .. }), "{error}");
        assert_eq!(reader.row_count(), 6);
        drop(log);
        // It does not matter what the catalog says of the version now.
        let log = fixture.open();
        assert_ints(&log, 0..3);
        commit(&log, &ints(3..4));
        drop(log);
        assert_ints(&fixture.open(), 0..4);
    }
}

#[test]
fn a_record_taken_back_before_anybody_could_read_it_was_never_written() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..3));
    let before = fs::read(&fixture.path).unwrap();
    log.append(&ints(3..6), 2, true).unwrap();
    assert!(log.retract(2).unwrap());
    assert_ints(&log, 0..3);
    log.flush(u64::MAX).unwrap();
    assert_eq!(fs::read(&fixture.path).unwrap(), before);
}

#[test]
fn a_log_opened_to_be_read_takes_no_rows() {
    let (fixture, log) = log_of_ints();
    commit(&log, &ints(0..20_000));
    drop(log);
    let log = fixture.open_read_only(&always).unwrap();
    assert_ints(&log, 0..20_000);
    assert_eq!(log.view(1).unwrap().chunk_count(), 20_000_usize.div_ceil(ZONE_ROWS));
    assert_eq!(log.mode(), None);
    let refused = |error: StoreError| assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    refused(log.append(&ints(0..1), 2, false).unwrap_err().into());
    refused(log.flush(0).unwrap_err());
    refused(log.retract(1).unwrap_err());
}

#[test]
fn a_header_with_any_byte_changed_is_refused() {
    let (fixture, offsets) = log_of_records(1);
    let whole = fs::read(&fixture.path).unwrap();
    for at in 0..offsets[0] {
        // The second half of the page is padding; a sample of it is enough.
        if at > 1024 && at % 61 != 0 {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&fixture.path, &bytes).unwrap();
        fixture.open_read_only(&always).unwrap_err();
    }
    let refused = |bytes: &[u8], expected: &str| {
        fs::write(&fixture.path, bytes).unwrap();
        let error = fixture.open_as(RegionKind::Auto, &always).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(&whole[..100], "it does not begin as a log");
    refused(&whole[..8192], "it has 8192 bytes");
    refused(&[], "is empty");
    let mut newer = whole;
    newer[8] = 2;
    refused(&newer, "use a newer version");
}
