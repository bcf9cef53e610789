//! Older versions: reading, keeping and expiring them.

use pmem_store::StoreError;

use crate::helpers::*;

#[test]
fn every_version_of_a_table_can_be_read_again() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let first = store.snapshot().unwrap().version();
    let deleted = delete(&store, "t", 0..5);
    append(&store, "t", &[ints(10..12)]);
    let appended = store.snapshot().unwrap().version();
    let deleted_again = delete(&store, "t", [5]);
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "t").unwrap();
    let cleared = transaction.commit("TRUNCATE").unwrap();
    let check = |store: &pmem_store::Store| {
        let at = |version| live_ints(&store.table_at("main", "t", version).unwrap().unwrap());
        assert_eq!(at(first), (0..10).collect::<Vec<_>>());
        assert_eq!(at(deleted), [5, 6, 7, 8, 9]);
        assert_eq!(at(appended), [5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(at(deleted_again), [6, 7, 8, 9, 10, 11]);
        assert_eq!(store.table_at("main", "t", cleared).unwrap().unwrap().row_count(), 0);
        assert!(matches!(store.table_at("main", "t", 0), Err(StoreError::BeforeTable { .. })));
        assert!(matches!(store.table_at("main", "t", cleared + 1), Err(StoreError::NoSuchVersion { .. })));
        assert!(store.table_at("main", "u", first).unwrap().is_none());
    };
    check(&store);
    drop(store);
    check(&open(dir.path()));
}

#[test]
fn versions_that_are_given_up_cannot_be_read_and_free_their_files() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let first = store.snapshot().unwrap().version();
    let mut transaction = store.begin().unwrap();
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap();
    append(&store, "t", &[ints(20..22)]);
    assert_eq!(segment_files(dir.path()).len(), 2);
    let reader = store.table_at("main", "t", first).unwrap().unwrap();
    store.expire_versions_before(u64::MAX).unwrap();
    assert!(matches!(store.table_at("main", "t", first), Err(StoreError::NoSuchVersion { .. })));
    assert_eq!(live_ints(&reader).len(), 10);
    assert_eq!(segment_files(dir.path()).len(), 2);
    drop(reader);
    assert_eq!(segment_files(dir.path()).len(), 1);
    assert_eq!(live_ints(&table(&store, "t")), [20, 21]);
    assert_eq!(store.versions().unwrap().len(), 1);
    drop(store);
    assert_eq!(live_ints(&table(&open(dir.path()), "t")), [20, 21]);
}

#[test]
fn a_named_version_outlives_its_time_and_keeps_its_table() {
    let (dir, store) = store_with(&[ints(0..10)]);
    store.set_retention_ms(0).unwrap();
    let mut transaction = store.begin().unwrap();
    let named = transaction.create_snapshot("monday").unwrap();
    transaction.commit("CREATE SNAPSHOT").unwrap();
    let unnamed = delete(&store, "t", [0]);
    delete(&store, "t", [1]);
    assert!(matches!(store.table_at("main", "t", unnamed), Err(StoreError::NoSuchVersion { .. })));
    assert_eq!(store.table_at("main", "t", named).unwrap().unwrap().row_count(), 10);
    let mut transaction = store.begin().unwrap();
    assert!(matches!(transaction.drop_table("main", "t"), Err(StoreError::KeptBySnapshot { .. })));
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap();
    assert_eq!(live_ints(&store.table_at("main", "t", named).unwrap().unwrap()).len(), 10);
    assert_eq!(segment_files(dir.path()).len(), 1);
    let mut transaction = store.begin().unwrap();
    transaction.drop_snapshot("monday").unwrap();
    transaction.commit("DROP SNAPSHOT").unwrap();
    assert!(matches!(store.table_at("main", "t", named), Err(StoreError::NoSuchVersion { .. })));
    assert_eq!(segment_files(dir.path()).len(), 0);
}

#[test]
fn versions_are_kept_for_as_long_as_the_store_says() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    assert_eq!(store.retention_ms().unwrap(), 24 * 3_600 * 1_000);
    let first = store.snapshot().unwrap().version();
    delete(&store, "t", [0]);
    assert!(store.table_at("main", "t", first).is_ok());
    store.set_retention_ms(0).unwrap();
    assert!(matches!(store.table_at("main", "t", first), Err(StoreError::NoSuchVersion { .. })));
    let second = delete(&store, "t", [1]);
    delete(&store, "t", [2]);
    assert!(matches!(store.table_at("main", "t", second), Err(StoreError::NoSuchVersion { .. })));
    assert_eq!(live_ints(&table(&store, "t")), [3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn a_time_is_the_version_that_was_the_last_one_then() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let versions = store.versions().unwrap();
    let last = versions.last().unwrap();
    assert_eq!(store.version_at(last.committed_at_ms).unwrap(), last.version);
    assert_eq!(store.version_at(u64::MAX).unwrap(), last.version);
    assert!(matches!(store.version_at(0), Err(StoreError::BeforeHistory { .. })));
    assert_eq!(last.tables, ["main.t"]);
}

#[test]
fn the_space_that_a_version_keeps_is_known() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let size = table(&store, "t").size_bytes();
    let mut transaction = store.begin().unwrap();
    let last_with_rows = transaction.base().version();
    transaction.clear_table("main", "t").unwrap();
    transaction.commit("TRUNCATE").unwrap();
    let sizes: Vec<(u64, u64)> = store
        .versions()
        .unwrap()
        .into_iter()
        .filter(|version| version.kept_bytes > 0)
        .map(|version| (version.version, version.kept_bytes))
        .collect();
    assert_eq!(sizes, [(last_with_rows, size)]);
}

#[test]
fn a_time_before_the_oldest_kept_version_is_no_version_although_a_named_one_is_older() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    let mut transaction = store.begin().unwrap();
    let named = transaction.create_snapshot("early").unwrap();
    transaction.commit("CREATE SNAPSHOT").unwrap();
    let committed_at_ms = |store: &pmem_store::Store, version: u64| {
        store.versions().unwrap().into_iter().find(|info| info.version == version).unwrap().committed_at_ms
    };
    let time_ms = committed_at_ms(&store, named);
    while pause_ms(&store) <= time_ms {}
    store.expire_versions_before(u64::MAX).unwrap();
    assert!(store.table_at("main", "t", named).is_ok());
    // It is unknown which version was the last one then, besides the named one.
    assert!(matches!(store.version_at(time_ms), Err(StoreError::BeforeHistory { oldest_ms: Some(_) })));
}

/// Makes a version after a pause; returns its time.
fn pause_ms(store: &pmem_store::Store) -> u64 {
    std::thread::sleep(std::time::Duration::from_millis(2));
    append(store, "t", &[ints(0..1)]);
    store.versions().unwrap().last().unwrap().committed_at_ms
}

fn insert(store: &pmem_store::Store, name: &str, values: std::ops::Range<i64>) -> u64 {
    std::thread::sleep(std::time::Duration::from_millis(3));
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(table(store, name).record().id, ints(values)).unwrap();
    transaction.commit("INSERT").unwrap()
}

#[test]
fn a_time_between_small_writes_is_the_version_of_the_one_before() {
    let (dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    create_table(&store, "u", &ints(0..1).schema());
    let versions: Vec<u64> = (0..5).map(|value| insert(&store, "t", value..value + 1)).collect();
    insert(&store, "u", 0..1);
    let check = |store: &pmem_store::Store| {
        let record = table(store, "t").record().clone();
        let infos = store.versions().unwrap();
        for (rows, version) in (1..).zip(&versions) {
            let info = infos.iter().find(|info| info.version == *version).unwrap();
            assert_eq!((info.operation.as_str(), info.tables.as_slice()), ("INSERT", ["main.t".to_string()].as_slice()));
            for time_ms in [info.committed_at_ms, info.committed_at_ms + 1] {
                let at_version = store.table_version_at(&record, time_ms).unwrap();
                assert_eq!((at_version, store.table_version(&record, at_version).unwrap().row_count()), (*version, rows));
            }
            // A version that changed another table, or none.
            assert_eq!(store.table_version(&record, infos.last().unwrap().version).unwrap().row_count(), 5);
        }
        assert!(matches!(store.table_version_at(&record, 0), Err(StoreError::BeforeHistory { .. })));
    };
    check(&store);
    store.seal_logs(table(&store, "t").record().id).unwrap();
    check(&store);
    drop(store);
    check(&open(dir.path()));
}

#[test]
fn a_version_of_other_tables_has_the_rows_a_log_had_before_it_also_when_it_is_sealed() {
    let (_dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    insert(&store, "t", 0..2);
    create_table(&store, "u", &ints(0..1).schema());
    let between = store.snapshot().unwrap().version();
    insert(&store, "t", 2..7);
    store.seal_logs(table(&store, "t").record().id).unwrap();
    assert_eq!(store.table_at("main", "t", between).unwrap().unwrap().row_count(), 2);
}

#[test]
fn a_small_write_that_got_a_name_stays_readable_when_its_log_forgets_versions() {
    let (dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    let id = table(&store, "t").record().id;
    let mut named = 0;
    for value in 0..2_005 {
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(id, ints(value..value + 1)).unwrap();
        transaction.set_durability(pmem_store::Durability::Async);
        transaction.commit("INSERT").unwrap();
        if value == 1_000 {
            let mut transaction = store.begin().unwrap();
            named = transaction.create_snapshot("middle").unwrap();
            transaction.commit("CREATE SNAPSHOT").unwrap();
        }
    }
    store.seal_logs(id).unwrap();
    let rows_at = |store: &pmem_store::Store, version| store.table_at("main", "t", version).map(|table| table.unwrap().row_count());
    assert_eq!(rows_at(&store, named).unwrap(), 1_001);
    let forgotten = (named - 900..named).filter(|version| matches!(rows_at(&store, *version), Err(StoreError::BetweenVersions { .. })));
    assert!(forgotten.count() > 0);
    store.expire_versions_before(u64::MAX).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(rows_at(&store, named).unwrap(), 1_001);
    assert!(store.versions().unwrap().iter().any(|info| info.version == named && info.operation == "INSERT"));
}

#[test]
fn an_open_transaction_can_name_its_version_although_a_log_forgot_those_beside_it() {
    let (dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    let id = table(&store, "t").record().id;
    let mut open_ones = Vec::new();
    for value in 0..2_005 {
        let mut transaction = store.begin().unwrap();
        transaction.append_rows(id, ints(value..value + 1)).unwrap();
        transaction.set_durability(pmem_store::Durability::Async);
        transaction.commit("INSERT").unwrap();
        if (1_000..1_003).contains(&value) {
            open_ones.push(store.begin().unwrap());
        }
    }
    store.seal_logs(id).unwrap();
    let named: Vec<u64> = open_ones
        .into_iter()
        .map(|mut transaction| {
            let version = transaction.create_snapshot(&format!("at {}", transaction.base().version())).unwrap();
            transaction.commit("CREATE SNAPSHOT").unwrap();
            version
        })
        .collect();
    let store = {
        drop(store);
        open(dir.path())
    };
    for (version, rows) in named.into_iter().zip(1_001..) {
        assert_eq!(store.table_at("main", "t", version).unwrap().unwrap().row_count(), rows);
    }
}
