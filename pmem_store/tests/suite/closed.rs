//! A store that was closed properly records where its logs ended. If there is less later, it is damaged.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pmem_store::{Store, StoreError, StoreOptions};
use tempfile::TempDir;

use crate::helpers::*;

const COMMITS: i64 = 20;
const ROWS: i64 = 10;

/// A closed store with a table `t` of 200 rows in a log, and a table `u` with another.
fn sample() -> TempDir {
    let (dir, store) = fresh();
    for name in ["t", "u"] {
        create_table(&store, name, &ints(0..1).schema());
        (0..COMMITS).for_each(|commit| append_rows(&store, name, commit * ROWS..(commit + 1) * ROWS));
    }
    drop(store);
    dir
}

fn append_rows(store: &Store, name: &str, values: std::ops::Range<i64>) {
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(table(store, name).record().id, ints(values)).unwrap();
    transaction.commit("INSERT").unwrap();
}

fn log_of(store: &Path, table: u64) -> PathBuf {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    let dir = store.join("segments").join(table.to_string());
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).find(is_log).unwrap()
}

/// Flips a bit in the middle of the records of the first table's log.
fn damage(store: &Path) {
    let path = log_of(store, 1);
    let mut bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[4096 + (used - 4096) / 2] ^= 4;
    fs::write(&path, bytes).unwrap();
}

fn rows(store: &Store, name: &str) -> Result<u64, StoreError> {
    Ok(store.snapshot()?.table("main", name)?.unwrap().row_count())
}

fn accepting() -> StoreOptions {
    StoreOptions { accept_loss: true, ..StoreOptions::default() }
}

#[track_caller]
fn is_reported(error: &StoreError) {
    let text = error.to_string();
    let StoreError::LogDamaged { rows, bytes, .. } = error else { panic!("{text}") };
    assert!(*rows > 0 && *rows < 200 && rows % 10 == 0 && *bytes > 0, "{text}");
    assert!(text.contains(&format!("{rows} of its rows ({bytes} bytes) are lost")), "{text}");
}

#[test]
fn a_log_damaged_before_its_end_is_an_error_for_readers_and_writers_of_its_table() {
    let dir = sample();
    damage(dir.path());
    is_reported(&rows(&open_read_only(dir.path()).unwrap(), "t").unwrap_err());
    let store = open(dir.path());
    is_reported(&rows(&store, "t").unwrap_err());
    is_reported(&store.seal_logs(1).unwrap_err());
    let mut transaction = store.begin().unwrap();
    is_reported(&transaction.append_rows(1, ints(0..1)).and_then(|()| transaction.commit("INSERT")).unwrap_err());
    let mut transaction = store.begin().unwrap();
    is_reported(&transaction.clear_table("main", "t").and_then(|()| transaction.commit("TRUNCATE")).unwrap_err());
    // The other tables are unchanged.
    append_rows(&store, "u", 0..5);
    assert_eq!((store.seal_logs(2).unwrap(), rows(&store, "u").unwrap()), (1, 205));
}

#[test]
fn a_check_reports_a_damaged_log() {
    let dir = sample();
    assert_eq!(open_read_only(dir.path()).unwrap().check(|_| {}).unwrap().problems, Vec::<String>::new());
    damage(dir.path());
    let problems = open_read_only(dir.path()).unwrap().check(|_| {}).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("table main.t: log "), "{problems:?}");
}

#[test]
fn a_validating_check_of_a_sound_store_finds_nothing() {
    let dir = sample();
    let store = open(dir.path());
    store.seal_logs(2).unwrap();
    assert_eq!(store.check_with(true, |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_damaged_log_stays_as_it_is_however_often_the_store_is_opened() {
    let dir = sample();
    damage(dir.path());
    let damaged = fs::read(log_of(dir.path(), 1)).unwrap();
    for round in 0..3 {
        let store = open(dir.path());
        append_rows(&store, "u", 0..1);
        drop(store);
        assert!(fs::read(log_of(dir.path(), 1)).unwrap() == damaged, "round {round}");
        is_reported(&rows(&open(dir.path()), "t").unwrap_err());
    }
}

#[test]
fn a_store_whose_loss_is_accepted_has_the_rows_before_it() {
    let dir = sample();
    damage(dir.path());
    let store = Store::open(dir.path(), accepting()).unwrap();
    let row_count = rows(&store, "t").unwrap();
    let [given_up] = store.given_up() else { panic!("{:?}", store.given_up()) };
    assert!(given_up.contains(&format!("of table 1 is without {} rows", 200 - row_count)), "{given_up}");
    assert!(row_count > 0 && row_count < 200 && row_count.is_multiple_of(10), "{row_count}");
    append_rows(&store, "t", 0..10);
    drop(store);
    let store = open(dir.path());
    assert_eq!((rows(&store, "t").unwrap(), store.given_up().len()), (row_count + 10, 0));
    assert_eq!(store.check(|_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn any_bit_that_changes_in_a_log_of_a_closed_store_is_found_or_changes_nothing() {
    let dir = sample();
    let path = log_of(dir.path(), 1);
    let sound = fs::read(&path).unwrap();
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
    let mut random = Random(5);
    for _ in 0..200 {
        let at = 4096 + random.below(used - 4096);
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << random.below(8);
        fs::write(&path, &bytes).unwrap();
        is_reported_or_whole(at, rows(&open_read_only(dir.path()).unwrap(), "t"));
    }
}

#[track_caller]
fn is_reported_or_whole(at: usize, result: Result<u64, StoreError>) {
    match result {
        Ok(rows) => assert_eq!(rows, 200, "byte {at}"),
        Err(error) => assert!(matches!(error, StoreError::LogDamaged { .. }), "byte {at}: {error}"),
    }
}

/// Flips a bit of a byte of a file.
fn flip(path: &Path, at: usize) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at as u64).unwrap();
}

#[test]
fn any_byte_that_changes_in_the_header_of_a_log_loses_the_rows_of_its_table_alone() {
    let dir = sample();
    let path = log_of(dir.path(), 1);
    // After the schema there is padding; a sample of it is enough.
    for at in (0..4096).filter(|at| *at < 1024 || at % 61 == 0) {
        flip(&path, at);
        let store = open_read_only(dir.path()).unwrap();
        let error = rows(&store, "t").unwrap_err();
        assert!(matches!(error, StoreError::LogDamaged { rows: 200, .. }), "byte {at}: {error}");
        assert!(error.to_string().contains("200 of its rows ("), "byte {at}: {error}");
        assert_eq!(rows(&store, "u").unwrap(), 200, "byte {at}");
        flip(&path, at);
    }
    assert_eq!(rows(&open_read_only(dir.path()).unwrap(), "t").unwrap(), 200);
}

/// `damage` changes the log of `t` in a copy of the store. Then `u` keeps working, the file stays as it is, and after the loss is accepted
/// `t` has `row_count` rows, permanently.
fn loses_its_table_alone(sound: &Path, name: &str, row_count: u64, damage: impl Fn(&Path)) {
    let dir = copy_of(sound);
    let path = log_of(dir.path(), 1);
    damage(&path);
    let damaged = fs::read(&path).ok();
    let reports = |store: &Store| {
        let problems = store.check(|_| {}).unwrap().problems;
        assert!(matches!(&problems[..], [problem] if problem.starts_with("table main.t: log ")), "{name}: {problems:?}");
        let error = rows(store, "t").unwrap_err();
        assert!(matches!(error, StoreError::LogDamaged { .. }) && error.to_string().contains(" are lost"), "{name}: {error}");
    };
    reports(&open_read_only(dir.path()).unwrap());
    for round in 1..=2 {
        let store = open(dir.path());
        reports(&store);
        let mut transaction = store.begin().unwrap();
        let error = transaction.append_rows(1, ints(0..1)).and_then(|()| transaction.commit("INSERT")).unwrap_err();
        assert!(matches!(error, StoreError::LogDamaged { .. }), "{name}: {error}");
        append_rows(&store, "u", 0..5);
        assert_eq!(rows(&store, "u").unwrap(), 200 + 5 * round, "{name}");
        drop(store);
        assert!(fs::read(&path).ok() == damaged, "{name}: nothing is written to it");
    }
    let store = Store::open(dir.path(), accepting()).unwrap();
    let [given_up] = store.given_up() else { panic!("{name}: {:?}", store.given_up()) };
    assert!(given_up.contains(" of table 1 is without "), "{name}: {given_up}");
    assert_eq!(rows(&store, "t").unwrap(), row_count, "{name}");
    append_rows(&store, "t", 0..10);
    drop(store);
    let store = open(dir.path());
    assert_eq!((rows(&store, "t").unwrap(), rows(&store, "u").unwrap()), (row_count + 10, 210), "{name}");
    assert_eq!((store.given_up().len(), store.check(|_| {}).unwrap().problems), (0, Vec::new()), "{name}");
}

#[test]
fn a_log_with_a_damaged_header_is_lost_when_the_loss_is_accepted_and_not_before() {
    let dir = sample();
    // Each field of the header, a reserved byte, the schema and the padding.
    for at in [0, 8, 12, 16, 24, 32, 40, 48, 56, 100, 120, 140, 4000] {
        loses_its_table_alone(dir.path(), &format!("byte {at}"), 0, |path| flip(path, at));
    }
}

/// The end of each record of a log.
fn record_ends(log: &[u8]) -> Vec<usize> {
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap()) as usize;
    let next = |at: &usize| Some(at + word(*at)).filter(|next| next > at);
    std::iter::successors(next(&word(48)), next).collect()
}

#[test]
fn a_log_of_another_length_keeps_the_records_that_are_whole_when_the_loss_is_accepted() {
    let dir = sample();
    let log = fs::read(log_of(dir.path(), 1)).unwrap();
    let ends = record_ends(&log);
    assert_eq!(ends.len(), 20);
    let (first, last) = (ends[0], ends[19]);
    let lengths = [0, 1, 100, 4095, 4096, first - 1, first, ends[9] + 100, last - 1, last, last + 1000, log.len() - 1, log.len() + 4096];
    for length in lengths {
        let row_count = 10 * ends.iter().filter(|end| **end <= length).count() as u64;
        let cut = |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length as u64).unwrap();
        loses_its_table_alone(dir.path(), &format!("{length} bytes"), row_count, cut);
    }
}

#[test]
fn after_an_accepted_loss_rows_that_come_are_neither_deleted_nor_measured_by_what_was_lost() {
    let dir = sample();
    let store = open(dir.path());
    let mut transaction = store.begin().unwrap();
    transaction.delete_rows(1, rows_of(table(&store, "t").tails()[0].id(), 50..200)).unwrap();
    transaction.commit("DELETE").unwrap();
    drop(store);
    let path = log_of(dir.path(), 1);
    let tenth = record_ends(&fs::read(&path).unwrap())[9] as u64;
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(tenth).unwrap();
    let store = Store::open(dir.path(), accepting()).unwrap();
    assert_eq!(rows(&store, "t").unwrap(), 50);
    append_rows(&store, "t", 0..30);
    assert_eq!(rows(&store, "t").unwrap(), 80);
    // As after a kill: the log is shorter than it was when the store was closed.
    let killed = copy_of(dir.path());
    let store = open(killed.path());
    assert_eq!((rows(&store, "t").unwrap(), store.check(|_| {}).unwrap().problems), (80, Vec::new()));
}

#[test]
fn a_log_that_is_missing_is_lost_when_the_loss_is_accepted_and_not_before() {
    let dir = sample();
    loses_its_table_alone(dir.path(), "no file", 0, |path| fs::remove_file(path).unwrap());
}

#[test]
fn the_rows_of_a_lost_log_are_not_counted_if_the_store_was_never_closed() {
    let (dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    append_rows(&store, "t", 0..10);
    let crashed = copy_of(dir.path());
    fs::remove_file(log_of(crashed.path(), 1)).unwrap();
    let error = rows(&open(crashed.path()), "t").unwrap_err().to_string();
    assert!(error.contains("the file is missing; the rows that it had from there on are lost, and how many there were cannot"), "{error}");
    assert_eq!(rows(&Store::open(crashed.path(), accepting()).unwrap(), "t").unwrap(), 0);
    assert_eq!(rows(&open(crashed.path()), "t").unwrap(), 0);
}

#[test]
fn a_version_from_before_a_lost_log_can_be_read() {
    let (dir, store) = store_with(&[ints(0..10)]);
    let version = store.snapshot().unwrap().version();
    append_rows(&store, "t", 10..20);
    drop(store);
    fs::remove_file(log_of(dir.path(), 1)).unwrap();
    let store = open_read_only(dir.path()).unwrap();
    assert!(matches!(rows(&store, "t"), Err(StoreError::LogDamaged { rows: 10, .. })));
    assert_eq!(store.table_at("main", "t", version).unwrap().unwrap().row_count(), 10);
}

#[test]
fn rows_appended_after_the_last_close_are_no_damage_when_a_crash_takes_them() {
    let dir = sample();
    let store = open(dir.path());
    append_rows(&store, "t", 0..10);
    let crashed = copy_of(dir.path());
    // The last record is incomplete.
    let path = log_of(crashed.path(), 1);
    let mut bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[used - 8..].fill(0);
    fs::write(&path, bytes).unwrap();
    assert_eq!(rows(&open(crashed.path()), "t").unwrap(), 200);
    // Damage to what was there at the close is still found then.
    let crashed = copy_of(dir.path());
    damage(crashed.path());
    is_reported(&rows(&open(crashed.path()), "t").unwrap_err());
}

#[test]
fn a_log_that_was_sealed_or_dropped_since_is_not_missed() {
    let dir = sample();
    let store = open(dir.path());
    store.seal_logs(1).unwrap();
    drop_table(&store, "u");
    let crashed = copy_of(dir.path());
    drop(store);
    for store in [crashed.path(), dir.path()] {
        let store = open(store);
        assert_eq!(rows(&store, "t").unwrap(), 200);
        assert_eq!(store.check(|_| {}).unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn a_catalog_that_is_older_than_the_store_was_is_refused() {
    let (dir, store) = fresh();
    create_table(&store, "t", &ints(0..1).schema());
    drop(store);
    let old = fs::read(dir.path().join("catalog.redb")).unwrap();
    let store = open(dir.path());
    append(&store, "t", &[ints(0..10)]);
    drop(store);
    let files = segment_files(dir.path());
    fs::write(dir.path().join("catalog.redb"), old).unwrap();
    fs::write(dir.path().join("dirty"), "").unwrap();
    let error = Store::open(dir.path(), StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("its last version is 1, and it was 2 when the store was closed"), "{error}");
    assert_eq!(segment_files(dir.path()), files, "nothing is removed");
    assert_eq!(rows(&Store::open(dir.path(), accepting()).unwrap(), "t").unwrap(), 0);
}

#[test]
fn a_note_that_is_damaged_or_missing_is_a_problem_of_the_check_at_most() {
    let dir = sample();
    let path = dir.path().join("closed");
    let mut bytes = fs::read(&path).unwrap();
    bytes[12] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path());
    assert_eq!(rows(&store, "t").unwrap(), 200);
    let problems = store.check(|_| {}).unwrap().problems;
    assert!(problems.len() == 1 && problems[0].contains("has a wrong checksum"), "{problems:?}");
    drop(store);
    assert_eq!(open(dir.path()).check(|_| {}).unwrap().problems, Vec::<String>::new());
    fs::remove_file(&path).unwrap();
    assert_eq!(open(dir.path()).check(|_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_note_that_could_not_be_made_durable_stops_what_comes_after_it() {
    let dir = sample();
    let note = || fs::read(dir.path().join("closed")).unwrap();
    let before = note();
    let store = open(dir.path());
    append_rows(&store, "t", 0..10);
    // It accepts all bytes, and cannot be synced.
    std::os::unix::fs::symlink("/dev/null", dir.path().join("closed.new")).unwrap();
    drop(store);
    assert_eq!(note(), before);
    assert!(dir.path().join("dirty").exists(), "nothing is removed after a failed sync");
    fs::remove_file(dir.path().join("closed.new")).unwrap();
    assert_eq!(rows(&open(dir.path()), "t").unwrap(), 210);
    assert!(note() != before && !dir.path().join("dirty").exists());
}

#[test]
fn a_writer_does_not_go_on_where_the_note_cannot_be_read() {
    let dir = sample();
    let note = dir.path().join("closed");
    fs::remove_file(&note).unwrap();
    fs::create_dir(&note).unwrap();
    let error = Store::open(dir.path(), StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
    assert_eq!(rows(&open_read_only(dir.path()).unwrap(), "t").unwrap(), 200);
    assert_eq!(rows(&Store::open(dir.path(), accepting()).unwrap(), "t").unwrap(), 200);
}
