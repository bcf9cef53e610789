//! A crash leaves the last commit, complete, and nothing else.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pmem_store::{SealedSegment, Store, TableId};
use tempfile::TempDir;

use crate::helpers::*;

/// Table `t` with the values 0..100 committed in one segment.
fn store_of_a_hundred() -> (TempDir, Store, TableId) {
    let (dir, store) = store_with(&[ints(0..100)]);
    let id = table(&store, "t").record().id;
    (dir, store, id)
}

/// Opens what a crash at this moment would leave, and checks it.
fn assert_recovers(store: &Path, expected: std::ops::Range<i64>, segments: usize) {
    let copy = copy_of(store);
    for _ in 0..2 {
        let recovered = open(copy.path());
        assert_eq!(read_ints(&table(&recovered, "t")), expected.clone().collect::<Vec<_>>());
        assert_eq!(recovered.check(|_| {}).unwrap().problems, Vec::<String>::new());
        assert_eq!(segment_files(copy.path()).len(), segments);
    }
    assert!(!copy.path().join("dirty").exists());
    // The ids of removed files can be used again.
    let recovered = open(copy.path());
    append(&recovered, "t", &[ints(0..1)]);
    assert_eq!(table(&recovered, "t").row_count(), expected.count() as u64 + 1);
}

#[test]
fn a_crash_at_any_step_of_a_commit_leaves_all_of_it_or_nothing() {
    let (dir, store, id) = store_of_a_hundred();
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap().with_target_bytes(1 << 20);
    assert_recovers(dir.path(), 0..100, 1);
    appender.write(ints(100..300_000)).unwrap();
    // Two full batches are in files that are not sealed, or sealed and not named.
    assert!(segment_files(dir.path()).len() > 1);
    assert_recovers(dir.path(), 0..100, 1);
    let segments = appender.finish().unwrap();
    assert_recovers(dir.path(), 0..100, 1);
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments.clone(), false).unwrap();
    assert_recovers(dir.path(), 0..100, 1);
    transaction.commit("INSERT").unwrap();
    assert_recovers(dir.path(), 0..300_000, 1 + segments.len());
    drop(store);
    assert_recovers(dir.path(), 0..300_000, 1 + segments.len());
}

#[test]
fn a_crash_during_the_first_write_to_a_table_leaves_it_empty() {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &ints(0..1).schema());
    let _segments = appender_of(&store, id).finish().unwrap();
    let copy = copy_of(dir.path());
    let recovered = open(copy.path());
    assert_eq!(table(&recovered, "t").row_count(), 0);
    assert!(!copy.path().join("segments").join(id.to_string()).exists());
}

fn appender_of(store: &Store, id: TableId) -> pmem_store::Appender {
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap();
    appender.write(ints(0..10)).unwrap();
    appender
}

#[test]
fn a_crash_after_a_drop_leaves_no_segment_of_the_table() {
    let (dir, store, id) = store_of_a_hundred();
    let reader = table(&store, "t");
    drop_table(&store, "t");
    // The file was kept for the reader, and not removed before the crash.
    assert_eq!(segment_files(dir.path()).len(), 1);
    let copy = copy_of(dir.path());
    let recovered = open(copy.path());
    assert!(recovered.snapshot().unwrap().table("main", "t").unwrap().is_none());
    assert!(!copy.path().join("segments").join(id.to_string()).exists());
    assert_eq!(reader.row_count(), 100);
}

#[test]
fn an_appender_dropped_unfinished_leaves_no_file() {
    let (dir, store, id) = store_of_a_hundred();
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap().with_target_bytes(1 << 20);
    appender.write(ints(0..600_000)).unwrap();
    assert!(segment_files(dir.path()).len() > 2);
    drop(appender);
    assert_eq!(segment_files(dir.path()).len(), 1);
    assert_eq!(files_below(&dir.path().join("segments")).len(), 4);
}

#[test]
fn segments_finished_but_not_committed_are_unseen_and_removed_when_the_store_closes() {
    let (dir, store, id) = store_of_a_hundred();
    appender_of(&store, id).finish().unwrap();
    assert_eq!(read_ints(&table(&store, "t")), (0..100).collect::<Vec<i64>>());
    assert_eq!(segment_files(dir.path()).len(), 2);
    drop(store);
    assert_eq!(segment_files(dir.path()).len(), 1);
    assert!(!dir.path().join("dirty").exists());
}

#[test]
fn an_appender_that_outlives_the_store_takes_nothing_from_the_next_one() {
    let (dir, store, id) = store_of_a_hundred();
    let mut appender = store.appender(id, ints(0..1).schema()).unwrap().with_target_bytes(1 << 20);
    appender.write(ints(0..200_000)).unwrap();
    drop(store);
    // The next store would assign the ids of the appender's files again.
    assert!(matches!(Store::open(dir.path(), Default::default()), Err(pmem_store::StoreError::Lock(_))));
    drop(appender);
    let store = open(dir.path());
    append(&store, "t", &[ints(100..110)]);
    assert_eq!(read_ints(&table(&store, "t")), (0..110).collect::<Vec<i64>>());
    drop(store);
    assert!(!dir.path().join("dirty").exists());
}

#[test]
fn side_tables_without_a_segment_and_foreign_files_in_place_of_one_are_handled() {
    let (dir, store, id) = store_of_a_hundred();
    let crashed = copy_of(dir.path());
    drop(store);
    let segments = crashed.path().join("segments");
    fs::write(segments.join(id.to_string()).join("77.zones.arrow"), "left").unwrap();
    fs::create_dir(segments.join("78")).unwrap();
    fs::write(segments.join("notes.txt"), "not ours").unwrap();
    let recovered = open(crashed.path());
    assert_eq!(table(&recovered, "t").row_count(), 100);
    // The four files of the segment and one with a foreign name.
    assert_eq!(files_below(&segments).len(), 5);
    assert!(!segments.join("78").exists());
}

#[test]
fn a_store_that_crashed_opens_for_reading_only() {
    let (dir, store, id) = store_of_a_hundred();
    appender_of(&store, id).finish().unwrap();
    let copy = copy_of(dir.path());
    match open_read_only(copy.path()) {
        Ok(reader) => assert_eq!(table(&reader, "t").row_count(), 100),
        // A catalog that needs repair must be written to.
        Err(error) => assert!(error.to_string().contains("open it for writing once"), "{error}"),
    }
    assert_eq!(table(&open(copy.path()), "t").row_count(), 100);
    assert_eq!(table(&open_read_only(copy.path()).unwrap(), "t").row_count(), 100);
}

#[test]
fn a_crash_while_the_store_was_made_leaves_a_directory_in_which_it_can_be_made() {
    let (dir, store) = fresh();
    drop(store);
    let catalog = fs::read(dir.path().join("catalog.redb")).unwrap();
    for length in [0, 100, catalog.len() / 2, catalog.len()] {
        let crashed = tempfile::tempdir().unwrap();
        fs::write(crashed.path().join("lock"), "").unwrap();
        fs::write(crashed.path().join("catalog.redb.new"), &catalog[..length]).unwrap();
        let store = open(crashed.path());
        create_table(&store, "t", &ints(0..1).schema());
        append(&store, "t", &[ints(0..5)]);
        assert_eq!(table(&store, "t").row_count(), 5);
        assert!(!crashed.path().join("catalog.redb.new").exists());
    }
}

#[test]
fn a_crash_between_the_catalog_and_the_directory_of_segments_is_no_damage() {
    let (dir, store) = fresh();
    drop(store);
    fs::remove_dir(dir.path().join("segments")).unwrap();
    fs::write(dir.path().join("dirty"), "").unwrap();
    let store = open(dir.path());
    create_table(&store, "t", &ints(0..1).schema());
    append(&store, "t", &[ints(0..5)]);
    assert_eq!(table(&store, "t").row_count(), 5);
}

#[test]
fn a_mark_that_could_not_be_set_is_set_by_the_next_write() {
    let (dir, store, id) = store_of_a_hundred();
    drop(store);
    let store = open(dir.path());
    // The directory takes the file's name.
    fs::create_dir(dir.path().join("dirty")).unwrap();
    store.begin().err().unwrap();
    store.begin().err().unwrap();
    fs::remove_dir(dir.path().join("dirty")).unwrap();
    let _appender = appender_of(&store, id);
    assert!(dir.path().join("dirty").exists());
}

#[test]
fn opening_a_store_of_twenty_thousand_segments_opens_none() {
    let (dir, store) = fresh();
    let id = create_table(&store, "t", &ints(0..1).schema());
    let fake = |id| SealedSegment {
        id,
        row_count: 8_192,
        batch_count: 1,
        size_bytes: 1 << 20,
        side_size_bytes: 1 << 10,
        checksums_xxh3: 1,
        statistics_xxh3: 2,
        columns_xxh3: 3,
        index_xxh3: None,
        is_encoded: false,
    };
    let segments: Vec<SealedSegment> = (1..=20_000).map(fake).collect();
    let mut transaction = store.begin().unwrap();
    transaction.add_segments(id, segments.clone(), false).unwrap();
    transaction.commit("INSERT").unwrap();
    drop(store);
    // None of the files exists.
    let store = open(dir.path());
    let table = table(&store, "t");
    assert_eq!((table.segments().len(), table.row_count()), (20_000, 20_000 * 8_192));
    assert_eq!(store.info().unwrap().tables[0].segment_count, 20_000);
    table.segments()[9].open().unwrap_err();
}

#[test]
fn commits_of_many_threads_are_all_there() {
    let (dir, store, id) = store_of_a_hundred();
    let store = Arc::new(store);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for _ in 0..3 {
                    append(&store, "t", &[ints(part * 1_000..part * 1_000 + 10)]);
                    store.snapshot().unwrap();
                }
            });
        }
    });
    assert_eq!(table(&store, "t").row_count(), 220);
    assert_eq!(table(&store, "t").record().id, id);
    drop(store);
    assert_eq!(table(&open(dir.path()), "t").row_count(), 220);
    assert_eq!(segment_files(dir.path()).len(), 13);
}
