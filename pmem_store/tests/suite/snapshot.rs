//! Changes become visible together, and never to an older reader.

use std::fs;

use pmem_store::{StoreError, ViewRecord};

use crate::helpers::*;

#[test]
fn a_reader_from_before_a_drop_reads_every_row_after_it() {
    let (dir, store) = store_with(&[ints(0..100_000)]);
    let before = table(&store, "t");
    drop_table(&store, "t");
    assert!(store.snapshot().unwrap().table("main", "t").unwrap().is_none());
    // The segment was never mapped before, so its file must still exist.
    assert_eq!(read_ints(&before), (0..100_000).collect::<Vec<i64>>());
    assert_eq!(segment_files(dir.path()).len(), 1);
    drop(before);
    assert_eq!(files_below(&dir.path().join("segments")).len(), 0);
    assert_eq!(fs::read_dir(dir.path().join("segments")).unwrap().count(), 0);
}

#[test]
fn batches_outlive_the_files_and_the_store_they_came_from() {
    let (dir, store) = store_with(&[ints(0..1_000)]);
    let rows = read_segment(&segment(&store));
    drop_table(&store, "t");
    assert_eq!(segment_files(dir.path()).len(), 0);
    drop(store);
    assert_eq!(rows, ints(0..1_000));
}

#[test]
fn files_go_with_the_last_reader_that_can_name_them() {
    let (dir, store) = store_with(&[ints(0..10)]);
    store.set_retention_ms(0).unwrap();
    let (first, second) = (table(&store, "t"), table(&store, "t"));
    append(&store, "t", &[ints(10..20)]);
    let third = table(&store, "t");
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap();
    let after = table(&store, "t");
    assert_eq!([first.row_count(), third.row_count(), after.row_count()], [10, 20, 0]);
    drop((first, third));
    assert_eq!(segment_files(dir.path()).len(), 2);
    assert_eq!(read_ints(&second), (0..10).collect::<Vec<i64>>());
    drop(second);
    assert_eq!(segment_files(dir.path()).len(), 0);
    append(&store, "t", &[ints(0..3)]);
    assert_eq!(read_ints(&table(&store, "t")), [0, 1, 2]);
    assert_eq!(after.row_count(), 0);
}

#[test]
fn a_reader_that_outlives_the_store_keeps_its_files_until_the_next_open() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let reader = table(&store, "t");
    drop_table(&store, "t");
    drop(store);
    assert_eq!(read_ints(&reader), (0..10).collect::<Vec<i64>>());
    drop(reader);
    let store = open(dir.path());
    assert_eq!(segment_files(dir.path()).len(), 0);
    drop(store);
    assert!(!dir.path().join("dirty").exists());
}

#[test]
fn a_dropped_table_is_unmapped_though_an_old_reader_looked_it_up_after_the_drop() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let before = store.snapshot().unwrap();
    drop_table(&store, "t");
    let late = before.table("main", "t").unwrap().unwrap();
    let mapped = std::sync::Arc::downgrade(&late.segments()[0].open().unwrap());
    drop(before);
    assert!(mapped.upgrade().is_some());
    drop(late);
    assert!(mapped.upgrade().is_none());
}

#[test]
fn a_transaction_dropped_without_a_commit_changes_nothing() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let version = store.snapshot().unwrap().version();
    let schema = ints(0..1).schema();
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("other").unwrap();
    transaction.create_table(store.new_table_id(), new_table("u", &schema), false).unwrap();
    transaction.drop_table("main", "t").unwrap();
    drop(transaction);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.version(), version);
    assert_eq!(snapshot.namespaces().unwrap(), ["main"]);
    assert_eq!(snapshot.tables().unwrap().len(), 1);
    assert_eq!(read_ints(&table(&store, "t")).len(), 10);
}

#[test]
fn a_name_is_taken_once_by_a_table_or_a_view() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let schema = ints(0..1).schema();
    let view = |name: &str| ViewRecord::new("main", name, "view", "SELECT 1");
    let mut transaction = store.begin().unwrap();
    let exists = |result: Result<(), StoreError>| matches!(result, Err(StoreError::AlreadyExists { .. }));
    assert!(exists(transaction.create_table(store.new_table_id(), new_table("t", &schema), false)));
    assert!(exists(transaction.create_view(view("t"), true)));
    transaction.create_view(view("w"), false).unwrap();
    assert!(exists(transaction.create_view(view("w"), false)));
    transaction.create_view(view("w"), true).unwrap();
    assert!(exists(transaction.create_table(store.new_table_id(), new_table("w", &schema), false)));
    assert!(exists(transaction.create_namespace("main")));
    // Names that differ in case are different.
    transaction.create_table(store.new_table_id(), new_table("T", &schema), false).unwrap();
    transaction.commit("CREATE").unwrap();
    assert_eq!(store.snapshot().unwrap().tables().unwrap().len(), 2);
}

#[test]
fn what_does_not_exist_cannot_be_changed() {
    let (_dir, store) = fresh();
    let schema = ints(0..1).schema();
    let mut transaction = store.begin().unwrap();
    let missing = |result: Result<(), StoreError>| matches!(result, Err(StoreError::DoesNotExist { .. }));
    assert!(missing(transaction.drop_table("main", "t")));
    assert!(missing(transaction.clear_table("main", "t")));
    assert!(missing(transaction.drop_view("main", "t")));
    assert!(missing(transaction.drop_namespace("other", true)));
    let elsewhere = pmem_store::NewTable { namespace: "other", ..new_table("t", &schema) };
    assert!(missing(transaction.create_table(store.new_table_id(), elsewhere, false)));
}

#[test]
fn rows_written_for_a_table_made_anew_meanwhile_are_refused() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let id = table(&store, "t").record().id;
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(ints(0..5)).unwrap();
    let segments = appender.finish().unwrap();
    drop_table(&store, "t");
    assert_ne!(create_table(&store, "t", &ints(0..1).schema()), id);
    let mut transaction = store.begin().unwrap();
    let result = transaction.add_segments(id, segments.clone(), false);
    assert!(matches!(result, Err(StoreError::DoesNotExist { .. })));
    drop(transaction);
    store.discard(id, &segments);
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn a_namespace_with_tables_is_dropped_with_them_or_not_at_all() {
    let (dir, store) = fresh();
    let schema = ints(0..1).schema();
    let mut transaction = store.begin().unwrap();
    transaction.create_namespace("sales").unwrap();
    // A name with the same beginning must survive.
    transaction.create_namespace("sales2").unwrap();
    for namespace in ["sales", "sales2"] {
        let id = store.new_table_id();
        transaction.create_table(id, pmem_store::NewTable { namespace, ..new_table("t", &schema) }, false).unwrap();
        let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
        appender.write(ints(0..5)).unwrap();
        transaction.add_segments(id, appender.finish().unwrap(), false).unwrap();
        transaction.create_view(ViewRecord::new(namespace, "w", "view", "SELECT 1"), false).unwrap();
    }
    transaction.commit("CREATE").unwrap();
    let mut transaction = store.begin().unwrap();
    assert!(matches!(transaction.drop_namespace("sales", false), Err(StoreError::NamespaceNotEmpty(_))));
    transaction.drop_namespace("sales", true).unwrap();
    transaction.commit("DROP SCHEMA").unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.namespaces().unwrap(), ["main", "sales2"]);
    assert_eq!((snapshot.tables().unwrap().len(), snapshot.views().unwrap().len()), (1, 1));
    assert_eq!(read_ints(&snapshot.table("sales2", "t").unwrap().unwrap()), [0, 1, 2, 3, 4]);
    assert_eq!(segment_files(dir.path()).len(), 1);
}

#[test]
fn readers_of_one_version_share_what_was_read() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let (one, two) = (table(&store, "t"), table(&store, "t"));
    let (one, two) = (one.segments()[0].open().unwrap(), two.segments()[0].open().unwrap());
    assert!(std::sync::Arc::ptr_eq(&one, &two));
    append(&store, "t", &[ints(10..20)]);
    // A commit that adds rows does not map the same segment again.
    assert!(std::sync::Arc::ptr_eq(&one, &table(&store, "t").segments()[0].open().unwrap()));
}
