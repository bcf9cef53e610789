//! Concurrent flushes, and the effect of a failed one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use pmem_store::StoreError;
use pmem_store::log::AppendError;
use pmem_store::region::simulated::Event;
use pmem_store::region::{RegionError, RegionKind};

use super::helpers::*;
use crate::helpers::ints;

fn fences(log: &pmem_store::log::TailLog) -> usize {
    log.trace().unwrap().events().iter().filter(|event| **event == Event::Fence).count()
}

#[test]
fn one_flush_is_enough_for_all_that_was_appended_before_it() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::Simulated);
    let before = fences(&log);
    let ends: Vec<u64> = (0..50).map(|value| log.append(&ints(value..value + 1), value as u64 + 1, false).unwrap().end_offset).collect();
    assert_eq!(fences(&log), before, "appending flushes nothing");
    for end in &ends {
        log.flush(*end).unwrap();
    }
    log.flush(u64::MAX).unwrap();
    assert_eq!(fences(&log), before + 1);
    assert_eq!(log.durable_bytes(), log.size_bytes());
}

#[test]
fn a_failed_flush_stops_all_writing_and_no_reading() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::Simulated);
    commit(&log, &ints(0..3));
    let end = log.append(&ints(3..4), 2, false).unwrap().end_offset;
    log.trace().unwrap().fail_next_flush();
    let error = log.flush(end).unwrap_err();
    assert!(matches!(error, StoreError::Region(RegionError::Flush { .. })), "{error}");
    let poisoned = |error: StoreError| {
        assert!(matches!(error, StoreError::Region(RegionError::Poisoned { .. })), "{error}");
    };
    poisoned(log.flush(end).unwrap_err());
    match log.append(&ints(4..5), 3, false).unwrap_err() {
        AppendError::Store(error) => poisoned(error),
        other => panic!("{other}"),
    }
    poisoned(log.retract(2).unwrap_err());
    assert!(fixture.poison.reason().is_some());
    // What was durable before stays durable, and can be read.
    log.flush(log.durable_bytes()).unwrap();
    assert_ints(&log, 0..4);
    assert_eq!(rows_of(&log.view(1).unwrap()), ints(0..3));
}

#[test]
fn every_waiter_of_a_failed_flush_gets_the_error() {
    let fixture = Fixture::new(ints(0..1).schema());
    let log = fixture.create(1 << 20, RegionKind::Simulated);
    let ends: Vec<u64> = (0..4).map(|value| log.append(&ints(value..value + 1), value as u64 + 1, false).unwrap().end_offset).collect();
    log.trace().unwrap().fail_next_flush();
    let results = thread::scope(|scope| {
        let threads: Vec<_> = ends.iter().map(|end| scope.spawn(|| log.flush(*end).is_err())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(results, [true; 4]);
}

#[test]
fn many_appenders_and_readers_at_once_see_whole_commits_in_order() {
    const APPENDERS: u64 = 4;
    const COMMITS: u64 = 60;
    for kind in [RegionKind::Auto, RegionKind::Plain, RegionKind::SimulatedDax] {
        let fixture = Fixture::new(ints(0..1).schema());
        let log = fixture.create(4 << 20, kind);
        let versions = Mutex::new(0u64);
        let visible = AtomicU64::new(0);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let appenders: Vec<_> = (0..APPENDERS)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..COMMITS {
                            let end = {
                                // As a store does: the version is assigned where the order is fixed.
                                let mut last = versions.lock().unwrap();
                                *last += 1;
                                let first = log.rows_at(u64::MAX) as i64;
                                let rows = ints(first..first + 1 + (*last % 5) as i64);
                                let end = log.append(&rows, *last, false).unwrap().end_offset;
                                visible.store(*last, Ordering::Release);
                                end
                            };
                            log.flush(end).unwrap();
                            assert!(log.durable_bytes() >= end);
                        }
                    })
                })
                .collect();
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Acquire) {
                        let view = log.view(visible.load(Ordering::Acquire)).unwrap();
                        if view.row_count() == 0 {
                            continue;
                        }
                        let rows = rows_of(&view);
                        let values = rows.column(0).as_primitive::<Int64Type>().values();
                        assert!(values.iter().enumerate().all(|(row, value)| row as i64 == *value));
                    }
                });
            }
            appenders.into_iter().for_each(|thread| thread.join().unwrap());
            done.store(true, Ordering::Release);
        });
        let rows = log.rows_at(u64::MAX) as i64;
        assert_eq!(log.last_version(), Some(APPENDERS * COMMITS));
        assert_eq!(log.durable_bytes(), log.size_bytes());
        drop(log);
        assert_ints(&fixture.open_as(kind, &always).unwrap(), 0..rows);
    }
}

#[test]
fn rows_can_be_prepared_by_many_threads_before_their_order_is_known() {
    let (_fixture, log) = log_of_ints();
    let log = Arc::new(log);
    let prepared: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|part| {
                scope.spawn({
                    let log = Arc::clone(&log);
                    move || log.prepare(&ints(part..part + 1)).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (index, mut record) in prepared.into_iter().enumerate() {
        log.append_prepared(&mut record, index as u64 + 1, false).unwrap();
    }
    assert_ints(&log, 0..4);
}
