//! Restores of rows of segments, columns and keys; conflicts, transactions and crashes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use pmem_store::{ColumnInfo, ColumnOrder, Store, StoreError, TableAlteration};

use super::{clear, last, restore, values, values_at};
use crate::helpers::*;

fn ids(store: &Store) -> Vec<u64> {
    table(store, "t").segments().iter().map(|segment| segment.id()).collect()
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn a_restored_table_has_its_old_rows_and_all_of_its_history() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let first = last(&store);
    let deleted = delete(&store, "t", 0..5);
    append(&store, "t", &[ints(20..22)]);
    let cleared = clear(&store);
    let restored = restore(&store, deleted).unwrap();
    let again = restore(&store, first).unwrap();
    let check = |store: &Store| {
        assert_eq!(values(store), (0..10).collect::<Vec<_>>());
        assert_eq!(values_at(store, first), (0..10).collect::<Vec<_>>());
        assert_eq!(values_at(store, deleted), [5, 6, 7, 8, 9]);
        assert!(values_at(store, cleared).is_empty());
        assert_eq!(values_at(store, restored), [5, 6, 7, 8, 9]);
        assert_eq!(values_at(store, again), (0..10).collect::<Vec<_>>());
    };
    check(&store);
    assert_eq!(store.check(|_| ()).unwrap().problems, [""; 0]);
    drop(store);
    check(&open(dir.path()));
}

#[test]
fn segments_of_both_versions_stay_and_others_come_back_as_second_names_of_their_files() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    append(&store, "t", &[ints(10..20)]);
    let version = last(&store);
    let before = table(&store, "t");
    delete(&store, "t", [3]);
    append(&store, "t", &[ints(20..30)]);
    restore(&store, version).unwrap();
    let after = table(&store, "t");
    assert_eq!(values(&store).len(), 20);
    assert_eq!(after.segments().len(), 2);
    // The first segment had a row less.
    assert!(after.segments().iter().any(|segment| segment.id() == before.segments()[1].id()));
    let renamed = after.segments().iter().find(|segment| segment.id() != before.segments()[1].id()).unwrap();
    assert_ne!(renamed.id(), before.segments()[0].id());
    assert_eq!(inode(renamed.path()), inode(before.segments()[0].path()));
    assert_eq!(renamed.record().sealed.size_bytes, before.segments()[0].record().sealed.size_bytes);
}

#[test]
fn restored_rows_do_not_need_the_version_they_came_from() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let version = last(&store);
    clear(&store);
    restore(&store, version).unwrap();
    assert_eq!(segment_files(dir.path()).len(), 2);
    store.expire_versions_before(u64::MAX).unwrap();
    assert_eq!(segment_files(dir.path()).len(), 1);
    assert_eq!(values(&store), (0..10).collect::<Vec<_>>());
    assert!(matches!(restore(&store, version), Err(StoreError::NoSuchVersion { .. })));
    drop(store);
    let store = open(dir.path());
    assert_eq!(values(&store), (0..10).collect::<Vec<_>>());
    assert_eq!(store.check(|_| ()).unwrap().problems, [""; 0]);
}

#[test]
fn a_table_that_others_changed_meanwhile_is_a_conflict_and_no_file_is_left() {
    for change in [|store: &Store| append(store, "t", &[ints(50..51)]), |store: &Store| _ = delete(store, "t", [9])] {
        let (dir, store) = store_with(&[ints(0..10)]);
        let version = last(&store);
        delete(&store, "t", [0]);
        let mut transaction = store.begin().unwrap();
        assert!(transaction.restore_table("main", "t", version).unwrap());
        change(&store);
        let files = segment_files(dir.path()).len();
        assert!(matches!(transaction.commit("RESTORE TABLE"), Err(StoreError::Conflict { table }) if table == "t"));
        assert_eq!(segment_files(dir.path()).len(), files - 1);
        assert!(!values(&store).contains(&0));
    }
}

#[test]
fn changes_of_other_tables_are_no_conflict() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    create_table(&store, "u", &ints(0..1).schema());
    let version = last(&store);
    delete(&store, "t", [0]);
    let mut transaction = store.begin().unwrap();
    transaction.restore_table("main", "t", version).unwrap();
    append(&store, "u", &[ints(0..3)]);
    transaction.commit("RESTORE TABLE").unwrap();
    assert_eq!((values(&store).len(), table(&store, "u").row_count()), (10, 3));
}

#[test]
fn rows_deleted_from_what_was_restored_meanwhile_are_a_conflict() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let version = last(&store);
    delete(&store, "t", [0]);
    let mut other = store.begin().unwrap();
    other.delete_rows(table(&store, "t").record().id, rows_of(ids(&store)[0], [5])).unwrap();
    restore(&store, version).unwrap();
    assert!(matches!(other.commit("DELETE"), Err(StoreError::Conflict { .. })));
    assert_eq!(values(&store), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_transaction_restores_amid_its_own_changes() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let version = last(&store);
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(id, rows_of(ids(&store)[0], 0..10)).unwrap();
    transaction.clear_table("main", "t").unwrap();
    transaction.restore_table("main", "t", version).unwrap();
    let own = {
        let table = transaction.snapshot().table("main", "t").unwrap().unwrap();
        assert_eq!(live_ints(&table).len(), 10);
        table.segments()[0].id()
    };
    transaction.delete_rows(id, rows_of(own, [4])).unwrap();
    // Another transaction commits first, on another table.
    create_table(&store, "u", &ints(0..1).schema());
    transaction.commit("COMMIT").unwrap();
    assert_eq!(values(&store), [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    drop(store);
    assert_eq!(values(&open(dir.path())), [0, 1, 2, 3, 5, 6, 7, 8, 9]);
}

#[test]
fn a_restore_that_is_taken_back_leaves_nothing() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let version = last(&store);
    clear(&store);
    let mut transaction = store.begin().unwrap();
    let savepoint = transaction.savepoint();
    transaction.restore_table("main", "t", version).unwrap();
    assert_eq!(segment_files(dir.path()).len(), 2);
    transaction.rollback_to(&savepoint);
    assert_eq!(segment_files(dir.path()).len(), 1);
    transaction.restore_table("main", "t", version).unwrap();
    drop(transaction);
    assert_eq!(files_below(&dir.path().join("segments")).len(), 4);
    assert!(values(&store).is_empty());
}

#[test]
fn a_table_that_is_what_it_was_is_not_changed() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let version = last(&store);
    create_table(&store, "u", &ints(0..1).schema());
    let mut transaction = store.begin().unwrap();
    assert!(!transaction.restore_table("main", "t", version).unwrap());
    assert!(transaction.is_empty());
    assert!(matches!(transaction.restore_table("main", "t", version + 9), Err(StoreError::NoSuchVersion { .. })));
    assert!(matches!(transaction.restore_table("main", "u", version), Err(StoreError::BeforeTable { .. })));
    assert!(matches!(transaction.restore_table("main", "none", version), Err(StoreError::DoesNotExist { .. })));
}

fn alter(store: &Store, alteration: TableAlteration) -> u64 {
    let mut transaction = store.begin().unwrap();
    transaction.alter_table("main", "t", alteration).unwrap();
    transaction.commit("ALTER TABLE").unwrap()
}

#[test]
fn columns_and_key_come_back_with_the_rows_and_the_name_stays() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let first = last(&store);
    let columns = table(&store, "t").columns().to_vec();
    let renamed = Schema::new(vec![Field::new("w", DataType::Int64, true), Field::new("x", DataType::Int64, true)]);
    let new = ColumnInfo { id: u32::MAX, ..ColumnInfo::default() };
    let key = |column: &str| vec![ColumnOrder { column: column.into(), descending: false, nulls_first: false }];
    alter(
        &store,
        TableAlteration {
            schema: Some((Arc::new(renamed), vec![columns[0].clone(), new])),
            cluster_key: Some(key("w")),
            constraints: Some(vec!["a rule".into()]),
            ..TableAlteration::default()
        },
    );
    let altered = alter(&store, TableAlteration { name: Some("renamed".into()), ..TableAlteration::default() });
    let back = |store: &Store, version| {
        let mut transaction = store.begin().unwrap();
        transaction.restore_table("main", "renamed", version).unwrap();
        transaction.commit("RESTORE TABLE").unwrap()
    };
    let names = |store: &Store| {
        let table = table(store, "renamed");
        let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
        (names, table.record().cluster_key.len(), table.record().constraints.len(), live_ints(&table).len())
    };
    back(&store, first);
    assert_eq!(names(&store), (vec!["v".to_string()], 0, 0, 10));
    append(&store, "renamed", &[ints(10..12)]);
    let appended = last(&store);
    back(&store, altered);
    assert_eq!(names(&store), (vec!["w".to_string(), "x".to_string()], 1, 1, 10));
    back(&store, appended);
    drop(store);
    let store = open(dir.path());
    assert_eq!(names(&store), (vec!["v".to_string()], 0, 0, 12));
    assert_eq!(store.table_at("main", "renamed", altered).unwrap().unwrap().schema().fields().len(), 2);
    // Each definition of a table has its own number.
    assert_eq!(table(&store, "renamed").record().schema_version, 5);
}

#[test]
fn a_crash_leaves_a_restore_whole_or_not_at_all() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let version = last(&store);
    delete(&store, "t", [0]);
    let recovered = |expected: &[i64], files: usize| {
        let copy = copy_of(dir.path());
        let store = open(copy.path());
        assert_eq!(values(&store), expected);
        assert_eq!(segment_files(copy.path()).len(), files);
        assert_eq!(store.check(|_| ()).unwrap().problems, [""; 0]);
        // The ids of removed files are assigned again.
        append(&store, "t", &[ints(100..101)]);
        assert_eq!(values(&store).len(), expected.len() + 1);
    };
    let before: Vec<i64> = (1..10).collect();
    let mut transaction = store.begin().unwrap();
    transaction.restore_table("main", "t", version).unwrap();
    recovered(&before, 1);
    transaction.commit("RESTORE TABLE").unwrap();
    let after: Vec<i64> = (0..10).collect();
    recovered(&after, 2);
    store.expire_versions_before(u64::MAX).unwrap();
    recovered(&after, 1);
}

#[test]
fn a_version_that_was_given_up_meanwhile_gets_no_name() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let mut transaction = store.begin().unwrap();
    transaction.create_snapshot("early").unwrap();
    delete(&store, "t", [0]);
    store.expire_versions_before(u64::MAX).unwrap();
    assert!(matches!(transaction.commit("CREATE SNAPSHOT"), Err(StoreError::NoSuchVersion { .. })));
    assert!(store.snapshot().unwrap().named_snapshots().is_empty());
}
