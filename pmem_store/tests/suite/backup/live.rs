//! Backups of a store during writes by others.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::restore::{seal, values, values_of};

/// Inserts `value` into `t` and deletes it from `u`, in one commit.
fn move_one(store: &Store, value: i64) {
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(table(store, "t").record().id, ints(value..value + 1)).unwrap();
    transaction.append_rows(table(store, "u").record().id, ints(-value..-value + 1)).unwrap();
    transaction.commit("MOVE").unwrap();
}

/// Adds a segment, then removes all segments of the table.
fn churn(store: &Store) {
    append(store, "x", &[ints(0..3_000)]);
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "x").unwrap();
    // Another thread's commit may be first.
    let _ = transaction.commit("TRUNCATE");
    create_table(store, "y", &ints(0..1).schema());
    append(store, "y", &[ints(0..3_000)]);
    drop_table(store, "y");
}

/// The backup has all commits up to one version, and nothing of later ones.
fn check(store: &Store) -> usize {
    let mut negated: Vec<i64> = values_of(&table(store, "u")).iter().map(|value| -value).collect();
    negated.sort_unstable();
    let moved = values(store);
    assert_eq!(moved, negated, "half of a commit");
    assert_eq!(moved, (0..moved.len() as i64).collect::<Vec<_>>(), "a commit is missing");
    moved.len()
}

/// Set when the test ends, even by a panic: otherwise the other threads would run for ever.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_backup_taken_beside_writers_is_one_version() {
    let place = Place::new();
    for name in ["u", "x"] {
        create_table(&place.store, name, &ints(0..1).schema());
    }
    place.store.set_retention_ms(0).unwrap();
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let store = &place.store;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                move_one(store, value);
                acknowledged.store(value as u64 + 1, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                seal(store);
                store.seal_logs(table(store, "u").record().id).unwrap();
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                churn(store);
            }
        });
        let _stop = StopOnDrop(&stop);
        let mut last = 0;
        for round in 0..12 {
            let before = acknowledged.load(Ordering::SeqCst);
            let report = place.backup();
            assert!(place.problems().is_empty(), "{:?}", place.problems());
            let restored = place.restored("restored");
            assert_eq!(crate::restore::last(&restored), report.version);
            let moved = check(&restored);
            assert!(moved as u64 >= before && moved >= last, "round {round}: {moved} of {before}");
            assert!(restored.check(|_| {}).unwrap().problems.is_empty());
            last = moved;
            drop(restored);
            fs::remove_dir_all(place.path("restored")).unwrap();
        }
        assert!(last > 0);
    });
    check(&place.store);
}

#[test]
fn files_that_are_given_up_during_a_backup_stay_until_it_is_done() {
    let place = Place::new();
    create_table(&place.store, "u", &ints(0..1).schema());
    for at in 0..5 {
        append(&place.store, "t", &[ints(at * 100..at * 100 + 100)]);
        append(&place.store, "u", &[ints(0..10)]);
    }
    // Only older versions need it.
    crate::restore::clear(&place.store);
    append(&place.store, "t", &[ints(7..8)]);
    let mut is_first = true;
    let report = place.store.backup(&place.path("backup"), false, &mut |_| {
        if std::mem::take(&mut is_first) {
            // This makes no new version: files are removed under the number of the last one.
            place.store.set_retention_ms(0).unwrap();
            drop_table(&place.store, "u");
        }
        ControlFlow::Continue(())
    });
    assert_eq!(report.unwrap().linked.files, 11 * 4);
    assert_eq!(segment_files(&place.path("store")).len(), 1);
    let restored = place.restored("restored");
    assert_eq!(values(&restored), [7]);
    assert_eq!(table(&restored, "u").row_count(), 50);
    assert_eq!(place.problems(), Vec::<String>::new());
}
