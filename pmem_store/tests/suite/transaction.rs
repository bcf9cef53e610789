//! Transactions: what they see, what they leave, and conflicts.

use std::sync::Arc;

use pmem_store::{ReplacedSegment, Replacement, Store, StoreError};

use crate::helpers::*;

#[test]
fn a_transaction_sees_its_own_changes_and_nobody_elses() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let table_id = table(&store, "t").record().id;
    let segment = table(&store, "t").segments()[0].id();
    let mut transaction = store.begin().unwrap();
    assert_eq!(transaction.delete_rows(table_id, rows_of(segment, [1, 2])).unwrap(), 2);
    append(&store, "t", &[ints(10..12)]);
    let own = transaction.snapshot().table("main", "t").unwrap().unwrap();
    assert_eq!(live_ints(&own), [0, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(table(&store, "t").row_count(), 12);
    transaction.commit("DELETE").unwrap();
    assert_eq!(live_ints(&table(&store, "t")), [0, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn rows_that_another_transaction_deleted_first_are_a_conflict() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let (table_id, segment) = (table(&store, "t").record().id, table(&store, "t").segments()[0].id());
    let mut one = store.begin().unwrap();
    let mut two = store.begin().unwrap();
    let mut three = store.begin().unwrap();
    one.delete_rows(table_id, rows_of(segment, [1, 2])).unwrap();
    two.delete_rows(table_id, rows_of(segment, [2, 3])).unwrap();
    three.delete_rows(table_id, rows_of(segment, [4])).unwrap();
    one.commit("DELETE").unwrap();
    assert!(matches!(two.commit("DELETE"), Err(StoreError::Conflict { table }) if table == "t"));
    three.commit("DELETE").unwrap();
    assert_eq!(live_ints(&table(&store, "t")), [0, 3, 5, 6, 7, 8, 9]);
}

#[test]
fn deleting_rows_twice_in_one_transaction_counts_them_once_and_is_no_conflict() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let (table_id, segment) = (table(&store, "t").record().id, table(&store, "t").segments()[0].id());
    delete(&store, "t", [0]);
    let mut transaction = store.begin().unwrap();
    assert_eq!(transaction.delete_rows(table_id, rows_of(segment, [0, 1])).unwrap(), 1);
    assert_eq!(transaction.delete_rows(table_id, rows_of(segment, [1, 2])).unwrap(), 1);
    transaction.commit("DELETE").unwrap();
    assert_eq!(table(&store, "t").row_count(), 7);
}

#[test]
fn a_savepoint_takes_back_what_came_after_it_and_its_files() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("n").unwrap();
    let savepoint = transaction.savepoint();
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(ints(10..20)).unwrap();
    transaction.add_segments(id, appender.finish().unwrap(), false).unwrap();
    transaction.clear_table("main", "t").unwrap();
    assert_eq!(segment_files(dir.path()).len(), 2);
    transaction.rollback_to(&savepoint);
    assert_eq!(segment_files(dir.path()).len(), 1);
    transaction.commit("CREATE SCHEMA").unwrap();
    assert_eq!(table(&store, "t").row_count(), 10);
    assert_eq!(store.snapshot().unwrap().namespaces().unwrap(), ["main", "n"]);
}

#[test]
fn a_transaction_that_is_dropped_leaves_no_file_and_no_change() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let id = table(&store, "t").record().id;
    let version = store.snapshot().unwrap().version();
    let mut transaction = store.begin().unwrap();
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(ints(10..20)).unwrap();
    transaction.add_segments(id, appender.finish().unwrap(), false).unwrap();
    transaction.drop_table("main", "t").unwrap();
    drop(transaction);
    assert_eq!(segment_files(dir.path()).len(), 1);
    assert_eq!(store.snapshot().unwrap().version(), version);
    assert_eq!(table(&store, "t").row_count(), 10);
}

#[test]
fn one_of_two_tables_of_a_name_is_refused_at_the_commit() {
    let (_dir, store) = fresh();
    let schema = ints(0..1).schema();
    let mut one = store.begin().unwrap();
    let mut two = store.begin().unwrap();
    one.create_table(store.new_table_id(), new_table("t", &schema), false).unwrap();
    two.create_table(store.new_table_id(), new_table("t", &schema), false).unwrap();
    one.commit("CREATE TABLE").unwrap();
    assert!(matches!(two.commit("CREATE TABLE"), Err(StoreError::AlreadyExists { .. })));
}

#[test]
fn two_replacements_of_a_table_happen_one_after_the_other() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let schema = ints(0..1).schema();
    let mut one = store.begin().unwrap();
    let mut two = store.begin().unwrap();
    let (first, second) = (store.new_table_id(), store.new_table_id());
    one.create_table(first, new_table("t", &schema), true).unwrap();
    two.create_table(second, new_table("t", &schema), true).unwrap();
    one.commit("CREATE TABLE").unwrap();
    two.commit("CREATE TABLE").unwrap();
    assert_eq!(table(&store, "t").record().id, second);
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn a_check_of_the_commit_sees_what_others_committed_meanwhile() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("n").unwrap();
    transaction.check_on_commit(Box::new(|becoming| {
        let rows = becoming.table("main", "t")?.map_or(0, |table| table.row_count());
        if rows > 10 { Err(StoreError::Refused(format!("{rows} rows are too many"))) } else { Ok(()) }
    }));
    append(&store, "t", &[ints(10..12)]);
    assert!(matches!(transaction.commit("CREATE SCHEMA"), Err(StoreError::Refused(message)) if message == "12 rows are too many"));
    assert_eq!(store.snapshot().unwrap().namespaces().unwrap(), ["main"]);
}

#[test]
fn a_check_runs_before_rows_go_to_a_log_and_sees_those_in_it() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let id = table(&store, "t").record().id;
    let insert = |rows_max: u64| {
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(id, ints(0..1)).unwrap();
        transaction.check_on_commit(Box::new(move |becoming| {
            let rows = becoming.table_by_id(id)?.map_or(0, |table| table.row_count());
            if rows > rows_max { Err(StoreError::Refused(format!("{rows} rows are too many"))) } else { Ok(()) }
        }));
        transaction
    };
    insert(11).commit("INSERT").unwrap();
    let meanwhile = insert(12);
    insert(12).commit("INSERT").unwrap();
    assert!(matches!(meanwhile.commit("INSERT"), Err(StoreError::Refused(message)) if message == "13 rows are too many"));
    insert(13).commit("INSERT").unwrap();
    assert_eq!((table(&store, "t").row_count(), table(&store, "t").tails().len()), (13, 1));
    drop(store);
    assert_eq!(table(&open(dir.path()), "t").row_count(), 13);
}

/// The rows 3 and 5 were deleted before, 0 meanwhile: all three are missing from the replacement.
#[test]
fn rows_deleted_while_their_segment_is_replaced_stay_deleted() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    delete(&store, "t", [3, 5]);
    let before = table(&store, "t");
    let (id, segment) = (before.record().id, before.segments()[0].clone());
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    let values: Vec<i64> = live_ints(&before).into_iter().rev().collect();
    appender.write(batch(vec![("v", Arc::new(arrow::array::Int64Array::from(values)))])).unwrap();
    let added = appender.finish().unwrap();
    // In reverse order, value v of 0..10 without 3 and 5 is at another position now.
    let places = (0..10u32).map(|row| match row {
        3 | 5 => u32::MAX,
        0..3 => 7 - row,
        4 => 4,
        _ => 9 - row,
    });
    let replaced = ReplacedSegment { segment: segment.id(), deletions: segment.deletions().cloned(), row_mapping: places.collect() };
    delete(&store, "t", [0, 9]);
    let mut transaction = store.begin().unwrap();
    let schema_version = before.record().schema_version;
    transaction.replace_segments(Replacement { table: id, schema_version, removed: vec![replaced], added, sorted: false }).unwrap();
    transaction.commit("COMPACT").unwrap();
    assert_eq!(live_ints(&table(&store, "t")), [8, 7, 6, 4, 2, 1]);
    assert_eq!(live_ints(&before), [0, 1, 2, 4, 6, 7, 8, 9]);
}

/// Replaces the table's segments with one that has its live rows in reverse order.
fn reverse(store: &Store) {
    let before = table(store, "t");
    let id = before.record().id;
    let values: Vec<i64> = live_ints(&before).into_iter().rev().collect();
    let count = values.len() as u32;
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(batch(vec![("v", Arc::new(arrow::array::Int64Array::from(values)))])).unwrap();
    let added = appender.finish().unwrap();
    let mut position = 0;
    let removed = before.segments().iter().map(|segment| {
        let is_gone = |row: &u32| segment.deletions().is_some_and(|deletions| deletions.rows().contains(*row));
        let places = (0..segment.record().sealed.row_count as u32).map(|row| match is_gone(&row) {
            true => u32::MAX,
            false => {
                position += 1;
                count - position
            }
        });
        ReplacedSegment { segment: segment.id(), row_mapping: places.collect(), deletions: segment.deletions().cloned() }
    });
    let removed = removed.collect();
    let mut compaction = store.begin().unwrap();
    let schema_version = before.record().schema_version;
    compaction.replace_segments(Replacement { table: id, schema_version, removed, added, sorted: false }).unwrap();
    compaction.commit("COMPACT").unwrap();
}

#[test]
fn rows_of_a_replaced_segment_are_deleted_at_their_new_positions() {
    let (dir, store) = store_with(&[ints(0..4)]);
    append(&store, "t", &[ints(4..10)]);
    delete(&store, "t", [0]);
    let before = table(&store, "t");
    let (id, first, second) = (before.record().id, before.segments()[0].id(), before.segments()[1].id());
    let mut late = store.begin().unwrap();
    // Row 0 of the first segment is deleted already.
    assert_eq!(late.delete_rows(id, rows_of(first, [0, 1])).unwrap(), 1);
    assert_eq!(late.delete_rows(id, rows_of(second, [5])).unwrap(), 1);
    reverse(&store);
    reverse(&store);
    delete(&store, "t", [1]);
    late.commit("DELETE").unwrap();
    assert_eq!(live_ints(&table(&store, "t")), [3, 4, 5, 6, 7, 8]);
    drop((before, store));
    assert_eq!(live_ints(&table(&open(dir.path()), "t")), [3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_table_is_cleared_also_where_its_segments_were_replaced_meanwhile() {
    let (_dir, store) = store_with(&[ints(0..4)]);
    append(&store, "t", &[ints(4..10)]);
    let mut late = store.begin().unwrap();
    late.clear_table("main", "t").unwrap();
    reverse(&store);
    reverse(&store);
    late.commit("TRUNCATE").unwrap();
    assert_eq!(live_ints(&table(&store, "t")), Vec::<i64>::new());
}

#[test]
fn rows_of_others_are_not_cleared_with_rows_of_the_same_compacted_segment() {
    let (_dir, store) = store_with(&[ints(0..4)]);
    let mut late = store.begin().unwrap();
    late.clear_table("main", "t").unwrap();
    append(&store, "t", &[ints(4..10)]);
    reverse(&store);
    let refused = late.commit("TRUNCATE").unwrap_err();
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused}");
    assert_eq!(live_ints(&table(&store, "t")).len(), 10);
}

#[test]
fn rows_of_a_replaced_segment_that_others_deleted_first_are_a_conflict() {
    let (_dir, store) = store_with(&[ints(0..4)]);
    let (id, segment) = (table(&store, "t").record().id, table(&store, "t").segments()[0].id());
    let deleting = |row| {
        let mut late = store.begin().unwrap();
        late.delete_rows(id, rows_of(segment, [row])).unwrap();
        late
    };
    let (before, after, none) = (deleting(0), deleting(3), deleting(2));
    delete(&store, "t", [0]);
    reverse(&store);
    // In reverse order this is value 3.
    delete(&store, "t", [0]);
    for late in [before, after] {
        assert!(matches!(late.commit("DELETE"), Err(StoreError::Conflict { table }) if table == "t"));
    }
    none.commit("DELETE").unwrap();
    assert_eq!(live_ints(&table(&store, "t")), [1]);
}

#[test]
fn rows_of_a_segment_that_was_replaced_and_then_cleared_are_a_conflict() {
    let (_dir, store) = store_with(&[ints(0..4)]);
    let (id, segment) = (table(&store, "t").record().id, table(&store, "t").segments()[0].id());
    let mut late = store.begin().unwrap();
    late.delete_rows(id, rows_of(segment, [1])).unwrap();
    reverse(&store);
    let mut truncate = store.begin().unwrap();
    truncate.clear_table("main", "t").unwrap();
    truncate.commit("TRUNCATE").unwrap();
    append(&store, "t", &[ints(0..4)]);
    assert!(matches!(late.commit("DELETE"), Err(StoreError::Conflict { .. })));
    assert_eq!(table(&store, "t").row_count(), 4);
}

#[test]
fn writing_to_a_table_that_was_dropped_or_altered_meanwhile_is_refused() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let id = table(&store, "t").record().id;
    let segments = || {
        let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
        appender.write(ints(10..20)).unwrap();
        appender.finish().unwrap()
    };
    let mut late = store.begin().unwrap();
    late.add_segments(id, segments(), false).unwrap();
    drop_table(&store, "t");
    assert!(matches!(late.commit("INSERT"), Err(StoreError::TableGone)));
    assert_eq!(segment_files(dir.path()).len(), 0);
    let mut never = store.begin().unwrap();
    assert!(never.add_segments(id, segments(), false).is_err());
    drop(never);
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn others_commit_while_a_check_still_looks() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let store = std::sync::Arc::new(store);
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("n").unwrap();
    let (begin, begun) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    // The second time the sender is gone, and the check does not wait.
    transaction.check_on_commit(Box::new(move |_| {
        let _ = begin.send(());
        match ended.recv_timeout(std::time::Duration::from_secs(60)) {
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Err(StoreError::Refused("the others have waited".into())),
            _ => Ok(()),
        }
    }));
    let committing = std::thread::spawn(move || transaction.commit("CREATE SCHEMA"));
    begun.recv().unwrap();
    append(&store, "t", &[ints(10..12)]);
    assert_eq!(table(&store, "t").row_count(), 12);
    drop(end);
    committing.join().unwrap().unwrap();
    assert_eq!(store.snapshot().unwrap().namespaces().unwrap(), ["main", "n"]);
}
