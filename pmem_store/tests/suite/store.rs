//! Opening a store: what it refuses, and what its readers see.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, UnionFields, UnionMode};
use pmem_store::{ColumnOrder, NewTable, Store, StoreError, StoreOptions, ViewRecord, restore_backup};
use redb::{ReadableDatabase, TableDefinition};
use serde_json::Value;

use crate::helpers::*;

#[test]
fn a_store_is_made_where_there_is_none_and_opens_again_with_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/store");
    let store = open(&path);
    assert_eq!(store.snapshot().unwrap().namespaces().unwrap(), ["main"]);
    create_table(&store, "t", &ints(0..1).schema());
    append(&store, "t", &[ints(0..70_000), ints(70_000..150_000)]);
    append(&store, "t", &[ints(150_000..150_001)]);
    let version = store.snapshot().unwrap().version();
    drop(store);
    let store = open(&path);
    assert_eq!(store.snapshot().unwrap().version(), version);
    assert_eq!(read_ints(&table(&store, "t")), (0..150_001).collect::<Vec<i64>>());
    let info = store.info().unwrap();
    assert_eq!((info.format_version, info.version), (1, 3));
    assert_eq!((info.tables[0].row_count, info.tables[0].segment_count), (150_001, 2));
    assert!(info.size_bytes > info.tables[0].size_bytes && info.tables[0].size_bytes > 600_000);
}

#[test]
fn only_the_owner_can_read_files_with_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (new_dir, old_dir) = (dir.path().join("above/made"), dir.path().join("given"));
    fs::create_dir(&old_dir).unwrap();
    fs::set_permissions(&old_dir, fs::Permissions::from_mode(0o755)).unwrap();
    for (path, expected) in [(&new_dir, 0o700), (&old_dir, 0o755)] {
        let store = open(path);
        create_table(&store, "t", &ints(0..1).schema());
        append(&store, "t", &[ints(0..10)]);
        assert_eq!((mode(path), mode(&path.join("catalog.redb"))), (expected, 0o600));
        let backup = dir.path().join("backups").join(path.file_name().unwrap());
        store.backup(&backup, false, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(mode(&backup), 0o700);
        let catalogs: Vec<_> =
            files_below(&backup).into_iter().filter(|file| file.ends_with("catalog.redb")).map(|file| backup.join(file)).collect();
        assert!(!catalogs.is_empty() && catalogs.iter().all(|catalog| mode(catalog) == 0o600), "{catalogs:?}");
        let restored = backup.with_extension("restored");
        restore_backup(&backup, &restored, false, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((mode(&restored), mode(&restored.join("catalog.redb"))), (0o700, 0o600));
    }
}

#[test]
fn a_declared_schema_is_kept_with_its_encodings_and_metadata() {
    let dictionary = |value| DataType::Dictionary(Box::new(DataType::Int16), Box::new(value));
    let runs = DataType::RunEndEncoded(
        Arc::new(Field::new("run_ends", DataType::Int32, false)),
        Arc::new(Field::new("values", DataType::Utf8, true)),
    );
    let members = UnionFields::try_new([3, 5], [Field::new("a", DataType::Int8, true), Field::new("b", DataType::Utf8, true)]);
    let schema = Schema::new(vec![
        Field::new("d", dictionary(DataType::Utf8), false),
        Field::new("e", DataType::List(Arc::new(Field::new("item", dictionary(DataType::Binary), true))), true),
        Field::new("r", runs, true),
        Field::new("u", DataType::Union(members.unwrap(), UnionMode::Dense), true),
        Field::new("m", DataType::Decimal64(18, 2), true).with_metadata([("unit".to_string(), "€".to_string())].into()),
    ]);
    let schema = schema.with_metadata([("origin".to_string(), "test".to_string())].into());
    let (dir, store) = fresh();
    create_table(&store, "t", &schema);
    drop(store);
    assert_eq!(table(&open(dir.path()), "t").schema().as_ref(), &schema);
}

#[test]
fn the_declarations_of_a_table_and_a_view_are_kept() {
    let (dir, store) = fresh();
    let order = ColumnOrder { column: "v".into(), descending: true, nulls_first: false };
    let schema = ints(0..1).schema();
    let options = [("note".to_string(), "x".to_string())].into();
    let view = ViewRecord::new("main", "w", "view", "SELECT 1");
    let mut transaction = store.begin().unwrap();
    let new = NewTable { cluster_key: vec![order.clone()], options, ..new_table("t", &schema) };
    transaction.create_table(store.new_table_id(), new, false).unwrap();
    transaction.create_view(view.clone(), false).unwrap();
    transaction.commit("CREATE").unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(table(&store, "t").record().cluster_key, [order]);
    assert_eq!(table(&store, "t").record().options["note"], "x");
    let stored = store.snapshot().unwrap().view("main", "w").unwrap().unwrap();
    assert!(stored.created_at_ms.is_some());
    assert_eq!(stored, ViewRecord { id: 2, created_version: 1, created_at_ms: stored.created_at_ms, ..view });
}

fn open_error(path: &Path) -> String {
    Store::open(path, StoreOptions::default()).unwrap_err().to_string()
}

#[test]
fn what_is_not_a_store_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "text").unwrap();
    assert!(open_error(&file).contains("is a file, not a directory"));
    assert!(open_error(dir.path()).contains("has other files"));
    assert_eq!(files_below(dir.path()).len(), 1);
    // A directory with segments and no catalog is no place for a new store.
    let lost = tempfile::tempdir().unwrap();
    fs::create_dir(lost.path().join("segments")).unwrap();
    assert!(open_error(lost.path()).contains("has other files"));
    let absent = dir.path().join("absent");
    let only_existing = StoreOptions { create: false, ..StoreOptions::default() };
    assert!(matches!(Store::open(&absent, only_existing), Err(StoreError::NotFound(_))));
    assert!(matches!(open_read_only(&absent), Err(StoreError::NotFound(_))));
    assert!(!absent.exists());
}

#[test]
fn a_catalog_that_is_none_is_an_error() {
    let (dir, store) = fresh();
    drop(store);
    let catalog = dir.path().join("catalog.redb");
    let bytes = fs::read(&catalog).unwrap();
    let torn = bytes[..bytes.len() / 2].to_vec();
    let noise: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| byte ^ (at % 251) as u8).collect();
    for damaged in [Vec::new(), b"text".to_vec(), vec![0; 100_000], noise, torn] {
        fs::write(&catalog, &damaged).unwrap();
        let error = open_error(dir.path());
        assert!(error.contains(dir.path().to_str().unwrap()) && error.contains("not a Quiver store"), "{error}");
        open_read_only(dir.path()).unwrap_err();
    }
    fs::remove_file(&catalog).unwrap();
    redb::Database::create(&catalog).unwrap();
    assert!(open_error(dir.path()).contains("not a Quiver store"));
}

#[test]
fn a_directory_without_permission_is_an_error_that_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        return println!("not tested: this user may read everything");
    }
    assert!(open_error(&closed).contains("no permission"));
    assert!(open_error(&closed.join("below")).contains("no permission"));
}

/// Changes the store's own record as a later version would.
fn change_record(path: &Path, change: impl FnOnce(&mut Value)) {
    const STORE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("store");
    let database = redb::Database::open(path.join("catalog.redb")).unwrap();
    let bytes = database.begin_read().unwrap().open_table(STORE).unwrap().get("store").unwrap().unwrap().value().to_vec();
    let mut record: Value = serde_json::from_slice(&bytes).unwrap();
    change(&mut record);
    // A program that does not know checksums of records writes none.
    record.as_object_mut().unwrap().remove("xxh3");
    let transaction = database.begin_write().unwrap();
    let bytes = serde_json::to_vec(&record).unwrap();
    transaction.open_table(STORE).unwrap().insert("store", bytes.as_slice()).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_newer_format_or_reader_feature_stops_everybody() {
    for (field, newer, expected) in [("format_version", 9, "format 9"), ("reader_features", 1_u64 << 40, "reader feature 0x10000000000")] {
        let (dir, store) = store_with(&[ints(0..10)]);
        drop(store);
        change_record(dir.path(), |record| record[field] = newer.into());
        for error in [open_error(dir.path()), open_read_only(dir.path()).unwrap_err().to_string()] {
            assert!(error.contains(expected) && error.contains("use a newer version"), "{error}");
        }
        change_record(dir.path(), |record| record[field] = u64::from(field == "format_version").into());
        assert_eq!(table(&open(dir.path()), "t").row_count(), 10);
    }
}

#[test]
fn a_newer_writer_feature_stops_writers_only() {
    let (dir, store) = store_with(&[ints(0..10)]);
    drop(store);
    change_record(dir.path(), |record| record["writer_features"] = (1_u64 << 40).into());
    assert!(open_error(dir.path()).contains("writer feature 0x10000000000"));
    assert_eq!(table(&open_read_only(dir.path()).unwrap(), "t").row_count(), 10);
}

#[test]
fn a_field_of_the_record_that_is_not_known_is_passed_over() {
    let (dir, store) = store_with(&[ints(0..10)]);
    drop(store);
    change_record(dir.path(), |record| record["colour"] = "blue".into());
    assert_eq!(table(&open(dir.path()), "t").row_count(), 10);
}

#[test]
fn a_store_open_for_reading_takes_no_write_and_changes_no_file() {
    let (dir, store) = store_with(&[ints(0..10)]);
    drop(store);
    let before = files_below(dir.path());
    let (one, two) = (open_read_only(dir.path()).unwrap(), open_read_only(dir.path()).unwrap());
    assert_eq!(read_ints(&table(&one, "t")), read_ints(&table(&two, "t")));
    assert!(matches!(one.begin(), Err(StoreError::ReadOnly(_))));
    assert!(matches!(one.appender(1, ints(0..1).schema()), Err(StoreError::ReadOnly(_))));
    assert!(matches!(Store::open(dir.path(), StoreOptions::default()), Err(StoreError::Lock(_))));
    drop((one, two));
    assert_eq!(files_below(dir.path()), before);
}

#[test]
fn a_second_writer_is_refused_with_the_process_that_is_in_the_way() {
    let (dir, _store) = fresh();
    let error = open_error(dir.path());
    assert!(error.contains("in use") && error.contains(&std::process::id().to_string()), "{error}");
    assert!(matches!(open_read_only(dir.path()), Err(StoreError::Lock(_))));
}

#[test]
fn a_store_closed_while_a_reader_lives_says_that_it_is_in_use() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let reader = store.snapshot().unwrap();
    drop(store);
    let error = open_error(dir.path());
    assert!(error.contains("in use"), "{error}");
    let table = reader.table("main", "t").unwrap().unwrap();
    drop(reader);
    assert_eq!(read_ints(&table).len(), 10);
    assert!(open_error(dir.path()).contains("in use"));
    drop(table);
    open(dir.path());
}
