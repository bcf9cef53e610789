//! Changed bits and blocks of the catalog either do not affect what is read, or cause an error of one sentence.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use pmem_store::{Store, StoreError, ViewRecord};
use tempfile::TempDir;

use crate::helpers::*;

/// A closed store: tables, versions, deleted rows, a log, a view and a snapshot.
fn sample() -> TempDir {
    let (dir, store) = store_with(&[ints(0..20_000)]);
    delete(&store, "t", (0..20_000).filter(|row| row % 3 == 0));
    let id = table(&store, "t").record().id;
    let mut transaction = store.begin().unwrap();
    transaction.create_snapshot("early").unwrap();
    transaction.create_view(ViewRecord::new("main", "w", "view", "SELECT 1"), false).unwrap();
    transaction.commit("CREATE VIEW").unwrap();
    delete(&store, "t", (0..20_000).filter(|row| row % 5 == 0));
    for number in 0..5 {
        let name = format!("table_{number}");
        create_table(&store, &name, &ints(0..1).schema());
        append(&store, &name, &[ints(0..number)]);
    }
    let mut transaction = store.begin().unwrap();
    transaction.append_rows(id, ints(0..7)).unwrap();
    transaction.commit("INSERT").unwrap();
    drop(store);
    dir
}

/// The whole content of the catalog, now and at every older version.
fn contents(store: &Store) -> Result<String, StoreError> {
    let mut text = String::new();
    let snapshot = store.snapshot()?;
    write!(text, "{:?} {:?} {:?}", snapshot.namespaces()?, snapshot.views()?, snapshot.named_snapshots()).unwrap();
    let versions = store.versions()?;
    let records = snapshot.tables()?;
    for version in versions.iter().map(|version| version.version).chain([snapshot.version()]) {
        for record in &records {
            let table = match store.table_version(record, version) {
                Err(StoreError::BeforeTable { .. }) => continue,
                table => table?,
            };
            write!(text, "\n{version} {:?} {:?} {:?}", table.record(), table.schema(), table.columns()).unwrap();
            for segment in table.segments() {
                write!(text, " {:?} {:?}", segment.record(), segment.deletions()).unwrap();
            }
            for tail in table.tails() {
                write!(text, " {} {:?}", tail.row_count(), tail.deletions()).unwrap();
            }
        }
    }
    write!(text, "\n{versions:?}").unwrap();
    Ok(text)
}

fn read(dir: &Path) -> Result<String, StoreError> {
    contents(&open_read_only(dir)?)
}

#[test]
fn a_bit_that_changes_anywhere_in_the_catalog_is_an_error_or_changes_nothing() {
    let dir = sample();
    let path = dir.path().join("catalog.redb");
    let (sound, expected) = (fs::read(&path).unwrap(), read(dir.path()).unwrap());
    let mut random = Random(11);
    // All bytes of the header, and of the pages mostly those in use.
    let used: Vec<usize> = (4096..sound.len()).filter(|at| sound[*at] != 0).collect();
    let mut places: Vec<usize> = (0..320).collect();
    places.extend((0..300).map(|_| used[random.below(used.len())]));
    places.extend((0..50).map(|_| random.below(sound.len())));
    let mut error_count = 0;
    for at in places {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << random.below(8);
        fs::write(&path, &bytes).unwrap();
        match read(dir.path()) {
            Ok(contents) => assert!(contents == expected, "byte {at}: {contents}"),
            Err(error) => {
                error_count += 1;
                let text = error.to_string();
                assert!(text.contains(dir.path().to_str().unwrap()), "byte {at}: {text}");
            }
        }
    }
    assert!(error_count > 100, "{error_count}");
}

const BLOCK_BYTES: usize = 4096;

/// A catalog of many pages; most of it is the text of a view.
fn large_sample() -> TempDir {
    let dir = sample();
    let store = open(dir.path());
    let schema = ints(0..1).schema();
    let mut transaction = store.begin().unwrap();
    for number in 0..300 {
        transaction.create_table(store.new_table_id(), new_table(&format!("many_{number}"), &schema), false).unwrap();
    }
    let sql = format!("SELECT '{}'", "x".repeat(10 << 20));
    transaction.create_view(ViewRecord::new("main", "long", "view", &sql), false).unwrap();
    transaction.commit("CREATE VIEW").unwrap();
    drop(store);
    assert!(dir.path().join("catalog.redb").metadata().unwrap().len() > 16 << 20);
    dir
}

/// The problems that a check reports, or the error that prevents it.
fn problems(dir: &Path) -> Vec<String> {
    let report = open_read_only(dir).and_then(|store| store.check(|_| {}));
    report.map_or_else(|error| vec![error.to_string()], |report| report.problems)
}

/// Overwrites one block after the other with random bytes, zeros or another block: the open and a check report it, or what is read
/// does not change.
fn overwrite_blocks(dir: &Path, rounds: usize) {
    let path = dir.join("catalog.redb");
    let (sound, expected) = (fs::read(&path).unwrap(), read(dir).unwrap());
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let block = |at: usize| &sound[at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES];
    // These blocks are neither free nor part of the long text.
    let is_used = |at: &usize| block(*at).iter().any(|byte| *byte != block(*at)[0]);
    let used: Vec<usize> = (0..sound.len() / BLOCK_BYTES).filter(is_used).collect();
    let (mut random, mut error_count) = (Random(13), 0);
    for round in 0..rounds {
        let (at, other) = (used[random.below(used.len())], used[random.below(used.len())]);
        let bytes: Vec<u8> = match round % 3 {
            0 => (0..BLOCK_BYTES).map(|_| random.next() as u8).collect(),
            1 => vec![0; BLOCK_BYTES],
            _ => block(other).to_vec(),
        };
        file.write_all_at(&bytes, (at * BLOCK_BYTES) as u64).unwrap();
        let problems = problems(dir);
        let is_found = problems.iter().any(|problem| problem.contains(dir.to_str().unwrap()));
        assert!(is_found || problems.is_empty(), "round {round}, block {at}: {problems:?}");
        match read(dir) {
            Ok(contents) => assert!(contents == expected, "round {round}, block {at} changes what is read"),
            Err(error) => assert!(is_found, "round {round}, block {at}: a check says nothing of: {error}"),
        }
        error_count += usize::from(is_found);
        file.write_all_at(block(at), (at * BLOCK_BYTES) as u64).unwrap();
    }
    assert!(error_count > rounds / 10, "{error_count}");
}

#[test]
fn a_block_of_a_small_catalog_that_holds_something_else_is_an_error_or_changes_nothing() {
    overwrite_blocks(sample().path(), 200);
}

#[test]
fn a_block_of_a_large_catalog_that_holds_something_else_is_an_error_or_changes_nothing() {
    overwrite_blocks(large_sample().path(), 45);
}

#[test]
fn a_writer_does_not_open_a_damaged_catalog_and_leaves_it_as_it_is() {
    let dir = sample();
    let path = dir.path().join("catalog.redb");
    let sound = fs::read(&path).unwrap();
    let mut damaged = sound.clone();
    for at in sound.windows(8).enumerate().filter(|(_, bytes)| *bytes == b"SELECT 1").map(|(at, _)| at) {
        damaged[at + 7] = b'2';
    }
    fs::write(&path, &damaged).unwrap();
    let error = Store::open(dir.path(), Default::default()).unwrap_err();
    assert!(matches!(error, StoreError::CatalogDamaged { .. }), "{error}");
    assert!(fs::read(&path).unwrap() == damaged);
    fs::write(&path, &sound).unwrap();
    assert_eq!(open(dir.path()).check(|_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_check_looks_at_the_catalog_as_it_is_on_the_disk() {
    let dir = sample();
    let path = dir.path().join("catalog.redb");
    let writer = open(dir.path());
    assert_eq!(writer.check(|_| {}).unwrap().problems, Vec::<String>::new());
    // The file changes after the store was opened, while the writer is active.
    let sound = fs::read(&path).unwrap();
    let damaged: Vec<usize> = sound.windows(8).enumerate().filter(|(_, bytes)| *bytes == b"SELECT 1").map(|(at, _)| at + 7).collect();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    damaged.iter().for_each(|at| file.write_all_at(b"2", *at as u64).unwrap());
    let problems = writer.check(|_| {}).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("catalog.redb\" is damaged"), "{problems:?}");
    create_table(&writer, "another", &ints(0..1).schema());
}

#[test]
fn a_check_says_nothing_of_a_catalog_that_is_written_to_and_of_one_that_a_crash_left() {
    let (dir, store) = fresh();
    for number in 0..30 {
        create_table(&store, &format!("t{number}"), &ints(0..1).schema());
        assert_eq!(store.check(|_| {}).unwrap().problems, Vec::<String>::new());
        let copy = copy_of(dir.path());
        assert_eq!(open(copy.path()).check(|_| {}).unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn a_record_that_changed_since_the_store_was_opened_is_an_error() {
    let (dir, store) = store_with(&[ints(0..20_000)]);
    delete(&store, "t", (0..20_000).filter(|row| row % 3 == 0));
    drop(store);
    let path = dir.path().join("catalog.redb");
    let sound = fs::read(&path).unwrap();
    let store = open_read_only(dir.path()).unwrap();
    // Flips a bit in each copy of the deletion vector: a bitmap of one container begins with these bytes, which include the number of rows.
    let begin = [0x3a, 0x30, 0, 0, 1, 0, 0, 0];
    let places = sound.windows(8).enumerate().filter(|(_, bytes)| *bytes == begin).map(|(at, _)| at + 600);
    let mut damaged = sound.clone();
    places.for_each(|at| damaged[at] ^= 1);
    assert!(damaged != sound);
    fs::write(&path, damaged).unwrap();
    let error = store.snapshot().unwrap().table("main", "t").unwrap_err();
    assert!(error.to_string().contains("the checksum of a record in \"deletions\" is wrong"), "{error}");
}
