//! Restores of rows that are in a log now, or were in one at the restored version.

use pmem_store::{Store, StoreError};

use super::{insert, last, restore, seal, values, values_at};
use crate::helpers::*;

#[test]
fn rows_of_a_log_come_back_and_go_as_those_of_segments_do() {
    let (dir, store) = store_with(&[ints(0..3)]);
    insert(&store, 10..12);
    let early = insert(&store, 12..13);
    insert(&store, 13..15);
    let log = table(&store, "t").tails()[0].id();
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(table(&store, "t").record().id, rows_of(log, [0])).unwrap();
    let deleted = transaction.commit("DELETE").unwrap();
    // Its rows are still the first ones of the log.
    restore(&store, early).unwrap();
    assert_eq!(values(&store), [0, 1, 2, 10, 11, 12]);
    let added = insert(&store, 20..22);
    assert_eq!(values(&store), [0, 1, 2, 10, 11, 12, 20, 21]);
    restore(&store, deleted).unwrap();
    let check = |store: &Store| {
        assert_eq!(values(store), [0, 1, 2, 11, 12, 13, 14]);
        assert_eq!(values_at(store, early), [0, 1, 2, 10, 11, 12]);
        assert_eq!(values_at(store, added), [0, 1, 2, 10, 11, 12, 20, 21]);
    };
    check(&store);
    seal(&store);
    check(&store);
    assert_eq!(store.check(|_| ()).unwrap().problems, [""; 0]);
    let crashed = copy_of(dir.path());
    check(&open(crashed.path()));
    drop(store);
    let store = open(dir.path());
    check(&store);
    restore(&store, added).unwrap();
    assert_eq!(values(&store), [0, 1, 2, 10, 11, 12, 20, 21]);
}

#[test]
fn only_the_rows_added_since_go_when_the_log_still_has_the_others() {
    let (dir, store) = store_with(&[ints(0..1)]);
    let early = insert(&store, 10..12);
    insert(&store, 12..13);
    let files = segment_files(dir.path()).len();
    restore(&store, early).unwrap();
    assert_eq!(values(&store), [0, 10, 11]);
    assert_eq!(segment_files(dir.path()).len(), files);
    insert(&store, 13..14);
    assert_eq!(values(&store), [0, 10, 11, 13]);
}

#[test]
fn a_small_write_that_comes_between_is_a_conflict() {
    let (_dir, store) = store_with(&[ints(0..3)]);
    let version = last(&store);
    insert(&store, 10..11);
    let mut transaction = store.begin().unwrap();
    transaction.restore_table("main", "t", version).unwrap();
    insert(&store, 11..12);
    assert!(matches!(transaction.commit("RESTORE TABLE"), Err(StoreError::Conflict { .. })));
    restore(&store, version).unwrap();
    assert_eq!(values(&store), [0, 1, 2]);
}

#[test]
fn rows_of_the_same_transaction_go_with_its_restore() {
    let (_dir, store) = store_with(&[ints(0..3)]);
    let version = last(&store);
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(10..11)).unwrap();
    assert!(transaction.restore_table("main", "t", version).unwrap());
    transaction.append_rows(id, ints(20..21)).unwrap();
    transaction.commit("COMMIT").unwrap();
    assert_eq!(values(&store), [0, 1, 2, 20]);
}
