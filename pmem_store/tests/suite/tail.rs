//! Small writes: their rows are in a log before they are in a segment.

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use pmem_store::{Durability, Store, StoreError, TableSnapshot};

use crate::helpers::*;

fn insert(store: &Store, values: std::ops::Range<i64>) -> u64 {
    insert_with(store, values, Durability::Sync)
}

fn insert_with(store: &Store, values: std::ops::Range<i64>, durability: Durability) -> u64 {
    let id = table(store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(values)).unwrap();
    transaction.set_durability(durability);
    transaction.commit("INSERT").unwrap()
}

/// The rows of segments, then of tails, that are not deleted.
fn all(table: &TableSnapshot) -> Vec<i64> {
    let mut values = live_ints(table);
    for tail in table.tails() {
        let mut position = 0u32;
        for chunk in 0..tail.chunk_count() {
            for value in tail.chunk(chunk).unwrap().column(0).as_primitive::<Int64Type>().values() {
                if tail.deletions().is_none_or(|deletions| !deletions.rows().contains(position)) {
                    values.push(*value);
                }
                position += 1;
            }
        }
    }
    values
}

fn empty_table() -> (tempfile::TempDir, Store) {
    let (dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    (dir, store)
}

#[test]
fn rows_of_small_writes_are_visible_at_once_and_after_reopening() {
    let (dir, store) = empty_table();
    for value in 0..100 {
        insert(&store, value..value + 1);
    }
    assert_eq!(table(&store, "t").row_count(), 100);
    assert_eq!(all(&table(&store, "t")), (0..100).collect::<Vec<_>>());
    assert_eq!(segment_files(dir.path()).len(), 1, "the log alone");
    let version = store.snapshot().unwrap().version();
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.snapshot().unwrap().version(), version);
    assert_eq!(all(&table(&store, "t")), (0..100).collect::<Vec<_>>());
    insert(&store, 100..103);
    assert_eq!(table(&store, "t").row_count(), 103);
    assert_eq!(all(&table(&open_copy_read_only(dir.path()).1, "t")).len(), 103);
}

fn open_copy_read_only(path: &std::path::Path) -> (tempfile::TempDir, Store) {
    let copy = copy_of(path);
    drop(open(copy.path()));
    let store = open_read_only(copy.path()).unwrap();
    (copy, store)
}

#[test]
fn what_was_acknowledged_as_durable_survives_the_end_of_the_process() {
    let (dir, store) = empty_table();
    for value in 0..10 {
        insert(&store, value..value + 1);
        let copy = copy_of(dir.path());
        assert_eq!(all(&table(&open(copy.path()), "t")), (0..=value).collect::<Vec<_>>());
    }
    insert_with(&store, 10..20, Durability::Async);
    store.flush().unwrap();
    let copy = copy_of(dir.path());
    assert_eq!(all(&table(&open(copy.path()), "t")), (0..20).collect::<Vec<_>>());
}

#[test]
fn a_snapshot_does_not_see_what_is_appended_later() {
    let (_dir, store) = empty_table();
    insert(&store, 0..3);
    let before = table(&store, "t");
    insert_with(&store, 3..5, Durability::Async);
    assert_eq!(all(&before), [0, 1, 2]);
    assert_eq!(all(&table(&store, "t")), [0, 1, 2, 3, 4]);
}

#[test]
fn rows_of_a_log_can_be_deleted_and_stay_so_when_it_is_sealed() {
    let (dir, store) = empty_table();
    insert(&store, 0..5);
    let (id, log) = (table(&store, "t").record().id, table(&store, "t").tails()[0].id());
    let mut late = store.begin().unwrap();
    late.delete_rows(id, rows_of(log, [4])).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(id, rows_of(log, [1])).unwrap();
    transaction.commit("DELETE").unwrap();
    insert(&store, 5..7);
    assert_eq!(all(&table(&store, "t")), [0, 2, 3, 4, 5, 6]);
    let before = table(&store, "t");
    assert_eq!(store.seal_logs(id).unwrap(), 1);
    let after = table(&store, "t");
    assert!(after.tails().is_empty());
    assert_eq!(after.segments()[0].id(), log);
    assert_eq!(all(&after), [0, 2, 3, 4, 5, 6]);
    assert_eq!(all(&before), [0, 2, 3, 4, 5, 6]);
    late.commit("DELETE").unwrap();
    insert(&store, 7..8);
    assert_eq!(all(&table(&store, "t")), [0, 2, 3, 5, 6, 7]);
    drop((before, after));
    drop(store);
    assert_eq!(all(&table(&open(dir.path()), "t")), [0, 2, 3, 5, 6, 7]);
}

#[test]
fn a_transaction_sees_the_rows_it_appended_and_can_delete_them() {
    let (_dir, store) = empty_table();
    insert(&store, 0..2);
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(10..13)).unwrap();
    let own = transaction.snapshot().table("main", "t").unwrap().unwrap();
    assert_eq!(all(&own), [0, 1, 10, 11, 12]);
    let pending = own.tails()[1].id();
    transaction.delete_rows(id, rows_of(pending, [1])).unwrap();
    transaction.append_rows(id, ints(20..21)).unwrap();
    let own = transaction.snapshot().table("main", "t").unwrap().unwrap();
    assert_eq!(all(&own), [0, 1, 10, 12, 20]);
    insert(&store, 2..3);
    transaction.commit("INSERT").unwrap();
    assert_eq!(all(&table(&store, "t")), [0, 1, 2, 10, 12, 20]);
}

#[test]
fn a_transaction_of_a_log_and_the_catalog_is_whole_or_not_there() {
    let (dir, store) = empty_table();
    insert(&store, 0..3);
    let (id, log) = (table(&store, "t").record().id, table(&store, "t").tails()[0].id());
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(id, rows_of(log, [0])).unwrap();
    transaction.append_rows(id, ints(10..11)).unwrap();
    transaction.create_namespace("main").unwrap_err();
    transaction.commit("UPDATE").unwrap();
    assert_eq!(all(&table(&store, "t")), [1, 2, 10]);
    let copy = copy_of(dir.path());
    assert_eq!(all(&table(&open(copy.path()), "t")), [1, 2, 10]);
    // A transaction whose catalog part is refused leaves none of its rows.
    let mut refused = store.begin().unwrap();
    refused.append_rows(id, ints(20..21)).unwrap();
    refused.create_namespace("n").unwrap();
    refused.check_on_commit(Box::new(|_| Err(StoreError::Refused("no".into()))));
    refused.commit("INSERT").unwrap_err();
    insert(&store, 30..31);
    assert_eq!(all(&table(&store, "t")), [1, 2, 10, 30]);
    drop(store);
    assert_eq!(all(&table(&open(dir.path()), "t")), [1, 2, 10, 30]);
}

#[test]
fn versions_of_small_appends_can_be_read_while_they_are_in_the_log_and_after() {
    let (_dir, store) = empty_table();
    let versions: Vec<u64> = (0..20).map(|value| insert(&store, value..value + 1)).collect();
    let check = |store: &Store| {
        for (count, version) in versions.iter().enumerate() {
            let then = store.table_at("main", "t", *version).unwrap().unwrap();
            assert_eq!(all(&then), (0..=count as i64).collect::<Vec<_>>());
        }
    };
    check(&store);
    store.seal_logs(table(&store, "t").record().id).unwrap();
    check(&store);
}

#[test]
fn a_truncated_table_has_no_rows_of_its_log_and_its_older_versions_have() {
    let (_dir, store) = empty_table();
    let version = insert(&store, 0..3);
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap();
    assert_eq!(table(&store, "t").row_count(), 0);
    insert(&store, 5..6);
    assert_eq!(all(&table(&store, "t")), [5]);
    assert_eq!(all(&store.table_at("main", "t", version).unwrap().unwrap()), [0, 1, 2]);
}

#[test]
fn a_dropped_table_takes_its_log_along() {
    let (dir, store) = empty_table();
    insert(&store, 0..3);
    let reader = table(&store, "t");
    drop_table(&store, "t");
    assert_eq!(all(&reader), [0, 1, 2]);
    assert_eq!(segment_files(dir.path()).len(), 1);
    drop(reader);
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn a_full_log_is_closed_and_another_one_goes_on() {
    let (_dir, store) = empty_table();
    let id = table(&store, "t").record().id;
    let rows = |from: i64| -> RecordBatch { batch(vec![("v", Arc::new(Int64Array::from_iter_values(from..from + 60_000)))]) };
    for at in 0..50 {
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(id, rows(at * 60_000)).unwrap();
        transaction.set_durability(Durability::Async);
        transaction.commit("INSERT").unwrap();
    }
    let before = table(&store, "t");
    assert!(before.tails().len() >= 2);
    assert_eq!(before.row_count(), 3_000_000);
    let full = before.tails().len() - 1;
    assert_eq!(store.seal_closed_logs(id).unwrap(), full);
    let after = table(&store, "t");
    assert_eq!((after.segments().len(), after.tails().len()), (full, 1));
    assert_eq!(all(&after), (0..3_000_000).collect::<Vec<_>>());
}

/// Every writer's rows are in order, and every reader sees a prefix of each.
#[test]
fn writers_and_readers_of_one_log_do_not_disturb_each_other() {
    let (dir, store) = empty_table();
    const ROWS: i64 = 200;
    let assert_prefixes = |values: &[i64]| {
        for writer in 0..4 {
            let own: Vec<i64> = values.iter().copied().filter(|value| value / ROWS == writer).collect();
            let from = writer * ROWS;
            assert_eq!(own, (from..from + own.len() as i64).collect::<Vec<_>>());
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for value in 0..ROWS {
                    let durability = if value % 3 == 0 { Durability::Sync } else { Durability::Async };
                    let version = insert_with(&store, writer * ROWS + value..writer * ROWS + value + 1, durability);
                    assert!(store.snapshot().unwrap().version() >= version, "one sees one's own writes");
                }
            });
        }
        for _ in 0..2 {
            let store = store.clone();
            scope.spawn(move || {
                for _ in 0..100 {
                    assert_prefixes(&all(&table(&store, "t")));
                }
            });
        }
        let store = store.clone();
        scope.spawn(move || {
            for _ in 0..5 {
                store.seal_logs(table(&store, "t").record().id).unwrap();
            }
        });
    });
    let values = all(&table(&store, "t"));
    assert_prefixes(&values);
    assert_eq!(values.len(), 4 * ROWS as usize);
    drop(store);
    assert_eq!(all(&table(&open(dir.path()), "t")).len(), 4 * ROWS as usize);
}

#[test]
fn several_threads_that_seal_the_same_logs_do_not_conflict() {
    let (dir, store) = empty_table();
    let id = table(&store, "t").record().id;
    for round in 0..10 {
        insert(&store, round * 3..round * 3 + 3);
        let sealed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| store.seal_logs(id).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(sealed, 1);
    }
    assert!(store.logs().is_empty());
    assert_eq!(all(&table(&store, "t")), (0..30).collect::<Vec<_>>());
    drop(store);
    assert_eq!(all(&table(&open(dir.path()), "t")), (0..30).collect::<Vec<_>>());
}

#[test]
fn logs_are_listed_with_their_rows() {
    let (_dir, store) = empty_table();
    assert!(store.logs().is_empty());
    insert(&store, 0..3);
    insert(&store, 3..4);
    let logs = store.logs();
    assert_eq!(logs.len(), 1);
    assert_eq!((logs[0].table, logs[0].id), (table(&store, "t").record().id, table(&store, "t").tails()[0].id()));
    assert_eq!(logs[0].row_count, 4);
    assert!(logs[0].size_bytes > 0);
}

/// A former bug: the deletion vector of a cleared log counted rows that the transaction could not see.
#[test]
fn a_transaction_that_clears_a_table_sees_none_of_its_rows_and_does_not_lose_those_of_others() {
    let (_dir, store) = empty_table();
    insert(&store, 0..5);
    let mut transaction = store.begin().unwrap();
    insert(&store, 5..8);
    transaction.clear_table("main", "t").unwrap();
    assert_eq!(transaction.snapshot().table("main", "t").unwrap().unwrap().row_count(), 0);
    assert!(matches!(transaction.commit("TRUNCATE"), Err(pmem_store::StoreError::Conflict { .. })));
    assert_eq!(all(&table(&store, "t")), (0..8).collect::<Vec<_>>());
}

#[test]
fn clearing_a_table_whose_log_was_sealed_meanwhile_is_no_conflict() {
    let (_dir, store) = empty_table();
    insert(&store, 0..5);
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "t").unwrap();
    store.seal_logs(table(&store, "t").record().id).unwrap();
    transaction.commit("TRUNCATE").unwrap();
    assert_eq!(table(&store, "t").row_count(), 0);
}

#[test]
fn what_a_transaction_adds_and_removes_again_leaves_no_file() {
    let (dir, store) = empty_table();
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(ints(0..10)).unwrap();
    transaction.add_segments(id, appender.finish().unwrap(), false).unwrap();
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap();
    assert_eq!(segment_files(dir.path()).len(), 0);
}
