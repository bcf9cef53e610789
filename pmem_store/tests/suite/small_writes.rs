//! Rows that go into a table's log without a transaction, and how soon they are durable.
//!
//! A copy of the store's files is what a crash of the process at that moment leaves.

use std::path::Path;
use std::time::{Duration, Instant};

use pmem_store::{Durability, KnownTable, Store};

use crate::helpers::*;

/// Far longer than asynchronous rows take to become durable, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A table with a log, which its first rows have made.
fn table_with_log() -> (tempfile::TempDir, Store, KnownTable) {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &ints(0..1).schema());
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(0..1)).unwrap();
    transaction.commit("INSERT").unwrap();
    let known = known(&store);
    (dir, store, known)
}

fn known(store: &Store) -> KnownTable {
    KnownTable::from(&table(store, "t"))
}

fn row_count(store: &Store) -> u64 {
    table(store, "t").row_count()
}

fn row_count_after_crash(path: &Path) -> u64 {
    let copy = copy_of(path);
    row_count(&open(copy.path()))
}

fn put(store: &Store, known: &KnownTable, value: i64, durability: Durability) -> u64 {
    store.append_rows(known, &ints(value..value + 1), Some(durability)).unwrap().expect("the log takes it").wait().unwrap()
}

#[test]
fn rows_acknowledged_as_durable_survive_a_crash_right_after() {
    let (dir, store, known) = table_with_log();
    for value in 1..20 {
        put(&store, &known, value, Durability::Sync);
        assert_eq!(row_count_after_crash(dir.path()), value as u64 + 1);
    }
}

#[test]
fn rows_acknowledged_as_visible_are_so_at_once_and_become_durable_by_themselves() {
    let (dir, store, known) = table_with_log();
    for value in 1..100 {
        put(&store, &known, value, Durability::Async);
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
    let (dir, store, known) = table_with_log();
    for value in 1..50 {
        put(&store, &known, value, Durability::Async);
        if value % 10 == 0 {
            store.flush().unwrap();
            assert_eq!(row_count_after_crash(dir.path()), value as u64 + 1);
        }
    }
}

#[test]
fn a_durable_row_makes_those_before_it_durable_too() {
    let (dir, store, known) = table_with_log();
    put(&store, &known, 1, Durability::Async);
    put(&store, &known, 2, Durability::Sync);
    assert_eq!(row_count_after_crash(dir.path()), 3);
}

#[test]
fn what_a_crash_takes_of_asynchronous_rows_is_the_last_of_them() {
    let (dir, store, known) = table_with_log();
    for value in 1..200 {
        put(&store, &known, value, Durability::Async);
        if value % 20 == 0 {
            let copy = copy_of(dir.path());
            let left = live_ints_of_log(&open(copy.path()));
            assert!(left.iter().copied().eq(0..left.len() as i64), "{left:?}");
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
    assert!(store.append_rows(&known(&store), &ints(1..2), None).unwrap().is_some());
    assert_eq!(row_count(&store), 1);
    drop_table(&store, "t");
    create_table(&store, "t", &ints(0..1).schema());
    assert!(store.append_rows(&known_before, &ints(1..2), None).unwrap().is_none());
    assert!(store.append_rows(&known(&store), &ints(1..2), None).unwrap().is_none(), "it has no log yet");
    assert_eq!(row_count(&store), 0);
}

#[test]
fn rows_that_nobody_waited_for_hold_up_no_later_version() {
    let (_dir, store, known) = table_with_log();
    drop(store.append_rows(&known, &ints(1..2), Some(Durability::Sync)).unwrap());
    put(&store, &known, 2, Durability::Sync);
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
        known_table = known(&store);
    }
    assert_eq!(row_count(&store), rows);
}
