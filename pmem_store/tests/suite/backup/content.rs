//! A restored store equals the original one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use arrow::datatypes::{DataType, Field, Schema};
use pmem_store::{ColumnInfo, Store, StoreError, TableAlteration, ViewRecord};

use super::*;
use crate::restore::{clear, insert, last, seal, values, values_at};

/// Everything that a reader can query, as text.
fn described(store: &Store) -> String {
    let snapshot = store.snapshot().unwrap();
    let mut text = format!("{:?} {:?} {:?}\n", snapshot.namespaces().unwrap(), snapshot.views().unwrap(), snapshot.named_snapshots());
    for record in snapshot.tables().unwrap() {
        let table = snapshot.table_by_id(record.id).unwrap().unwrap();
        text += &format!("{record:?} {:?} {:?} {}\n", table.schema(), table.columns(), table.row_count());
    }
    text + &format!("{:?}", store.versions().unwrap())
}

/// Segments with deleted rows, a log with some, a column added, a view, a snapshot, older versions.
fn eventful() -> Place {
    let place = Place::new();
    let store = &place.store;
    append(store, "t", &[ints(0..10_000)]);
    append(store, "t", &[ints(10_000..20_000)]);
    delete(store, "t", 10..20);
    let mut transaction = store.begin().unwrap();
    transaction.create_snapshot("before").unwrap();
    transaction.create_namespace("s").unwrap();
    transaction.create_view(ViewRecord::new("s", "v", "external", "SELECT 1"), false).unwrap();
    transaction.commit("CREATE").unwrap();
    delete(store, "t", 100..200);
    insert(store, 20_000..20_010);
    insert(store, 20_010..20_020);
    place
}

#[test]
fn a_restored_store_is_what_the_store_was() {
    let place = eventful();
    let (store, version) = (&place.store, last(&place.store));
    let (description, all) = (described(store), values(store));
    let old = store.snapshot().unwrap().named_snapshots()[0].version;
    let report = place.backup();
    assert_eq!(report.version, version);
    // The backup has nothing of what comes later.
    insert(store, 30_000..30_001);
    delete(store, "t", 300..400);
    assert_eq!(place.problems(), Vec::<String>::new());
    let restored = place.restored("restored");
    assert_eq!(described(&restored), description);
    assert_eq!(values(&restored), all);
    assert_eq!(values_at(&restored, old), values_at(store, old));
    assert!(restored.check(|_| {}).unwrap().problems.is_empty());
    assert_eq!(last(&restored), version);
}

#[test]
fn a_restored_store_goes_on_and_neither_backup_nor_store_notices() {
    let place = eventful();
    place.backup();
    let (all, before) = (values(&place.store), files_below(&place.path("store")));
    let restored = place.restored("restored");
    insert(&restored, 40_000..40_100);
    delete(&restored, "t", 500..600);
    seal(&restored);
    clear(&restored);
    append(&restored, "t", &[ints(0..100)]);
    restored.set_retention_ms(0).unwrap();
    assert_eq!(values(&restored), (0..100).collect::<Vec<_>>());
    drop(restored);
    let reopened = open(&place.path("restored"));
    assert_eq!(values(&reopened), (0..100).collect::<Vec<_>>());
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.store), all);
    assert_eq!(files_below(&place.path("store")), before);
    assert_eq!(values(&place.restored("again")), all);
}

#[test]
fn a_backup_needs_no_store_any_more() {
    let place = eventful();
    let all = values(&place.store);
    place.backup();
    clear(&place.store);
    place.store.set_retention_ms(0).unwrap();
    let mut transaction = place.store.begin().unwrap();
    transaction.drop_snapshot("before").unwrap();
    transaction.drop_table("main", "t").unwrap();
    transaction.commit("DROP").unwrap();
    assert!(segment_files(&place.path("store")).is_empty());
    fs::remove_dir_all(place.path("store")).unwrap();
    assert_eq!(values(&place.restored("restored")), all);
}

#[test]
fn columns_and_constraints_of_a_table_survive() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    let fields = [Field::new("x", DataType::Int64, true), Field::new("added", DataType::Int64, true)];
    let added = ColumnInfo { id: u32::MAX, default_sql: Some("1 + 1".into()), initial: Some("2".into()) };
    let columns = vec![ColumnInfo::default(), added];
    let alteration = TableAlteration {
        schema: Some((std::sync::Arc::new(Schema::new(fields.to_vec())), columns)),
        constraints: Some(vec!["{\"name\":\"c\"}".into()]),
        ..TableAlteration::default()
    };
    let mut transaction = place.store.begin().unwrap();
    transaction.alter_table("main", "t", alteration).unwrap();
    transaction.commit("ALTER TABLE").unwrap();
    place.backup();
    assert_eq!(described(&place.restored("restored")), described(&place.store));
}

#[test]
fn logs_are_copied_without_their_room_and_have_it_again_when_restored() {
    let place = Place::new();
    insert(&place.store, 0..10);
    place.backup();
    let logs = |dir: &Path| -> Vec<std::path::PathBuf> {
        let all = files_below(dir).into_iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "log"));
        all.map(|path| dir.join(path)).collect()
    };
    let (own, backup_logs) = (logs(&place.path("store")), logs(&place.path("backup")));
    assert!(backup_logs[0].metadata().unwrap().len() < 10_000);
    let restored = place.restored("restored");
    let restored_logs = logs(&place.path("restored"));
    let size = own[0].metadata().unwrap().len();
    assert_eq!(restored_logs[0].metadata().unwrap().len(), size);
    assert!(restored_logs[0].metadata().unwrap().blocks() * 512 >= size, "not all bytes are reserved");
    assert_eq!(restored_logs[0].metadata().unwrap().nlink(), 1);
    insert(&restored, 10..20);
    drop(restored);
    assert_eq!(values(&open(&place.path("restored"))), (0..20).collect::<Vec<_>>());
}

#[test]
fn a_store_that_is_only_read_can_be_backed_up() {
    let Place { dir, store } = eventful();
    let all = values(&store);
    drop(store);
    let store = open_read_only(&dir.path().join("store")).unwrap();
    let backup = dir.path().join("backup");
    back_up(&store, &backup).unwrap();
    restore(&backup, &dir.path().join("restored")).unwrap();
    assert_eq!(values(&open(&dir.path().join("restored"))), all);
}

#[test]
fn a_store_without_anything_can_be_backed_up() {
    let (dir, store) = fresh();
    let other = tempfile::tempdir().unwrap();
    back_up(&store, &other.path().join("backup")).unwrap();
    restore(&other.path().join("backup"), &other.path().join("restored")).unwrap();
    assert_eq!(last(&open(&other.path().join("restored"))), 0);
    drop(dir);
}

#[test]
fn a_store_of_before_ids_gets_one_when_it_is_opened_for_writing() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1");
    let (dir, other) = (copy_of(&fixture), tempfile::tempdir().unwrap());
    let backup = other.path().join("backup");
    let error = back_up(&open_read_only(dir.path()).unwrap(), &backup).unwrap_err();
    assert!(error.to_string().contains("open it for writing once"), "{error}");
    assert!(!backup.exists());
    drop(open(dir.path()));
    back_up(&open_read_only(dir.path()).unwrap(), &backup).unwrap();
    back_up(&open(dir.path()), &backup).unwrap();
    restore(&backup, &other.path().join("restored")).unwrap();
    let (restored, was) = (open(&other.path().join("restored")), open(dir.path()));
    assert_eq!(described(&restored), described(&was));
    assert_eq!(read(&table(&restored, "t")), read(&table(&was, "t")));
}

#[test]
fn a_restored_store_is_another_store() {
    let place = Place::new();
    place.backup();
    let restored = place.restored("restored");
    let error = back_up(&restored, &place.path("backup")).unwrap_err();
    assert!(matches!(&error, StoreError::Backup(_)) && error.to_string().contains("another store"), "{error}");
    place.backup();
    back_up(&restored, &place.path("other")).unwrap();
}
