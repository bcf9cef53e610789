//! Rows that go into a table's log without a transaction, and when they become durable.
//!
//! A copy of the store's files is what a crash of the process leaves at that moment.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use pmem_store::{Durability, Store, TableVersion, restore_backup};

use crate::helpers::*;

/// Far longer than asynchronous rows take to become durable, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A table with a log, which its first rows have created.
fn table_with_log() -> (tempfile::TempDir, Store, TableVersion) {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &ints(0..1).schema());
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(0..1)).unwrap();
    transaction.commit("INSERT").unwrap();
    let log_table = table_version(&store);
    (dir, store, log_table)
}

fn table_version(store: &Store) -> TableVersion {
    TableVersion::from(&table(store, "t"))
}

fn row_count(store: &Store) -> u64 {
    table(store, "t").row_count()
}

fn row_count_after_crash(path: &Path) -> u64 {
    let copy = copy_of(path);
    row_count(&open(copy.path()))
}

fn put(store: &Store, log_table: &TableVersion, value: i64, durability: Durability) -> u64 {
    store.append_rows(log_table, &ints(value..value + 1), Some(durability)).unwrap().expect("the log takes it").wait().unwrap()
}

#[test]
fn rows_acknowledged_as_durable_survive_a_crash_right_after() {
    let (dir, store, log_table) = table_with_log();
    for value in 1..20 {
        put(&store, &log_table, value, Durability::Sync);
        assert_eq!(row_count_after_crash(dir.path()), value as u64 + 1);
    }
}

#[test]
fn rows_acknowledged_as_visible_are_so_at_once_and_become_durable_by_themselves() {
    let (dir, store, log_table) = table_with_log();
    for value in 1..100 {
        put(&store, &log_table, value, Durability::Async);
    }
    assert_eq!(row_count(&store), 100);
    let begun = Instant::now();
    while row_count_after_crash(dir.path()) < 100 {
        assert!(begun.elapsed() < PATIENCE, "nobody made them durable");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn after_a_flush_nothing_acknowledged_is_lost() {
    let (dir, store, log_table) = table_with_log();
    for value in 1..50 {
        put(&store, &log_table, value, Durability::Async);
        if value % 10 == 0 {
            store.flush().unwrap();
            assert_eq!(row_count_after_crash(dir.path()), value as u64 + 1);
        }
    }
}

#[test]
fn a_durable_row_makes_those_before_it_durable_too() {
    let (dir, store, log_table) = table_with_log();
    put(&store, &log_table, 1, Durability::Async);
    put(&store, &log_table, 2, Durability::Sync);
    assert_eq!(row_count_after_crash(dir.path()), 3);
}

#[test]
fn what_a_crash_takes_of_asynchronous_rows_is_the_last_of_them() {
    let (dir, store, log_table) = table_with_log();
    for value in 1..200 {
        put(&store, &log_table, value, Durability::Async);
        if value % 20 == 0 {
            let copy = copy_of(dir.path());
            let log_values = live_ints_of_log(&open(copy.path()));
            assert!(log_values.iter().copied().eq(0..log_values.len() as i64), "{log_values:?}");
        }
    }
}

fn live_ints_of_log(store: &Store) -> Vec<i64> {
    use arrow::array::AsArray;
    let table = table(store, "t");
    let chunks = table.tails().iter().flat_map(|tail| (0..tail.chunk_count()).map(|chunk| tail.chunk(chunk).unwrap()));
    chunks.flat_map(|chunk| chunk.column(0).as_primitive::<arrow::datatypes::Int64Type>().values().to_vec()).collect()
}

#[test]
fn rows_for_a_table_that_changed_are_not_taken() {
    let (_dir, store, known_before) = table_with_log();
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(known_before.id, rows_of(table(&store, "t").tails()[0].id(), [0])).unwrap();
    transaction.commit("DELETE").unwrap();
    assert!(!store.is_unchanged(&known_before));
    assert!(store.append_rows(&known_before, &ints(1..2), None).unwrap().is_none());
    assert!(store.append_rows(&table_version(&store), &ints(1..2), None).unwrap().is_some());
    assert_eq!(row_count(&store), 1);
    drop_table(&store, "t");
    create_table(&store, "t", &ints(0..1).schema());
    assert!(store.append_rows(&known_before, &ints(1..2), None).unwrap().is_none());
    assert!(store.append_rows(&table_version(&store), &ints(1..2), None).unwrap().is_none(), "it has no log yet");
    assert_eq!(row_count(&store), 0);
}

#[test]
fn rows_that_nobody_waited_for_hold_up_no_later_version() {
    let (_dir, store, log_table) = table_with_log();
    drop(store.append_rows(&log_table, &ints(1..2), Some(Durability::Sync)).unwrap());
    put(&store, &log_table, 2, Durability::Sync);
    assert_eq!(row_count(&store), 3);
}

#[test]
fn a_full_log_takes_no_rows_and_a_transaction_makes_the_next_one() {
    let (_dir, store, mut known_table) = table_with_log();
    let many = ints(0..8_000);
    let mut rows = 1;
    let mut refused = 0;
    while refused < 2 {
        rows += 8_000;
        if store.append_rows(&known_table, &many, Some(Durability::Async)).unwrap().is_some_and(|appended| appended.wait().is_ok()) {
            continue;
        }
        refused += 1;
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(known_table.id, many.clone()).unwrap();
        transaction.commit("INSERT").unwrap();
        known_table = table_version(&store);
    }
    assert_eq!(row_count(&store), rows);
}

/// One row per commit, as many as fit a group and some more; returns the version of each.
fn put_many(store: &Store, log_table: &TableVersion, values: std::ops::Range<i64>) -> Vec<u64> {
    values.map(|value| store.append_at_once(log_table, &ints(value..value + 1)).unwrap().expect("nobody is in the way")).collect()
}

fn assert_versions(store: &Store, versions: &[u64]) {
    for (row, version) in versions.iter().enumerate() {
        let then = store.table_at("main", "t", *version).unwrap().unwrap();
        assert_eq!(then.row_count(), row as u64 + 2, "version {version}");
    }
}

#[test]
fn each_of_many_asynchronous_commits_is_a_version_also_after_reopening_and_sealing() {
    let (dir, store, log_table) = table_with_log();
    let mut versions = put_many(&store, &log_table, 1..300);
    assert!(versions.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_versions(&store, &versions);
    versions.extend(put_many(&store, &log_table, 300..310));
    assert_eq!(store.version_at(u64::MAX).unwrap(), versions[versions.len() - 1]);
    drop(store);
    assert_versions(&open_read_only(dir.path()).unwrap(), &versions);
    let store = open(dir.path());
    assert_versions(&store, &versions);
    assert_eq!(live_ints_of_log(&store), (0..310).collect::<Vec<_>>());
    let last = store.snapshot().unwrap().version();
    store.seal_logs(log_table.id).unwrap();
    assert_eq!(read_ints(&table(&store, "t")), (0..310).collect::<Vec<_>>());
    assert_eq!(store.table_at("main", "t", last).unwrap().unwrap().row_count(), 310);
}

#[test]
fn a_snapshot_has_the_rows_of_its_version_and_no_later_ones() {
    let (_dir, store, log_table) = table_with_log();
    let mut snapshots = Vec::new();
    for round in 0..20 {
        put_many(&store, &log_table, 1 + round * 10..11 + round * 10);
        snapshots.push((11 + round * 10, store.snapshot().unwrap()));
    }
    for (rows, snapshot) in snapshots {
        assert_eq!(snapshot.table("main", "t").unwrap().unwrap().row_count(), rows as u64);
    }
}

#[test]
fn rows_of_all_ways_of_committing_follow_each_other_in_order() {
    let (dir, store, known_before) = table_with_log();
    let mut next = 1;
    for round in 0..30 {
        let log_table = table_version(&store);
        next = put_many(&store, &log_table, next..next + 3).len() as i64 + next;
        put(&store, &log_table, next, Durability::Sync);
        put(&store, &log_table, next + 1, Durability::Async);
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(log_table.id, ints(next + 2..next + 3)).unwrap();
        if round % 5 == 0 {
            transaction.create_namespace(&format!("s{round}")).unwrap();
        }
        transaction.commit("INSERT").unwrap();
        assert_eq!(row_count_after_crash(dir.path()), next as u64 + 3, "the last one is durable");
        next += 3;
    }
    assert_eq!(known_before.id, table_version(&store).id);
    drop(store);
    assert_eq!(live_ints_of_log(&open(dir.path())), (0..next).collect::<Vec<_>>());
}

#[test]
fn rows_that_would_have_to_wait_are_not_taken_at_once() {
    let (_dir, store, log_table) = table_with_log();
    let pending = store.append_rows(&log_table, &ints(1..2), Some(Durability::Sync)).unwrap().unwrap();
    assert_eq!(store.append_at_once(&log_table, &ints(2..3)).unwrap(), None, "a version before it is not visible");
    pending.wait().unwrap();
    assert!(store.append_at_once(&log_table, &ints(2..3)).unwrap().is_some());
    assert_eq!(store.append_at_once(&log_table, &ints(0..1_000)).unwrap(), None, "many rows are a record of their own");
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(log_table.id, rows_of(table(&store, "t").tails()[0].id(), [0])).unwrap();
    transaction.commit("DELETE").unwrap();
    assert_eq!(store.append_at_once(&log_table, &ints(2..3)).unwrap(), None, "it has changed");
    assert_eq!(row_count(&store), 2);
}

#[test]
fn what_each_of_several_writers_has_flushed_survives_a_crash() {
    let (dir, store, log_table) = table_with_log();
    std::thread::scope(|scope| {
        for writer in 1..4 {
            let (store, log_table, path) = (&store, &log_table, dir.path());
            scope.spawn(move || {
                for row in 0..200 {
                    let value = writer * 1_000 + row;
                    if store.append_at_once(log_table, &ints(value..value + 1)).unwrap().is_none() {
                        put(store, log_table, value, Durability::Async);
                    }
                    if row % 40 != 39 {
                        continue;
                    }
                    store.flush().unwrap();
                    let copy = copy_of(path);
                    let log_values = live_ints_of_log(&open(copy.path()));
                    let own = log_values.iter().copied().filter(|value| value / 1_000 == writer);
                    assert!(own.take(row as usize + 1).eq(writer * 1_000..=value));
                }
            });
        }
    });
    assert_eq!(row_count(&store), 601);
}

#[test]
fn deleting_rows_that_were_put_just_before_deletes_them() {
    let (dir, store, log_table) = table_with_log();
    put_many(&store, &log_table, 1..50);
    let id = table(&store, "t").tails()[0].id();
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(log_table.id, rows_of(id, 10..50)).unwrap();
    transaction.commit("DELETE").unwrap();
    assert_eq!((row_count(&store), row_count_after_crash(dir.path())), (10, 10));
}

#[test]
fn a_backup_has_the_rows_put_just_before_it() {
    let (_dir, store, log_table) = table_with_log();
    put_many(&store, &log_table, 1..200);
    let target = tempfile::tempdir().unwrap();
    let (backup, restored) = (target.path().join("backup"), target.path().join("restored"));
    store.backup(&backup, false, &mut |_| ControlFlow::Continue(())).unwrap();
    put_many(&store, &log_table, 200..210);
    restore_backup(&backup, &restored, false, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(row_count(&open(&restored)), 200);
}
