//! Every failure of a backup leaves the previous one; every failure of a restore leaves no store.

use std::fs;
use std::process::Stdio;

use super::*;
use crate::child::{child, in_child};
use crate::restore::{clear, insert, values};

/// A first backup, and then many changes.
fn sample() -> (Place, Vec<i64>) {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..1_000)]);
    insert(&place.store, 1_000..1_010);
    place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap();
    let contents = values(&place.store);
    clear(&place.store);
    for at in 2..6 {
        append(&place.store, "t", &[ints(at * 10_000..at * 10_000 + 5_000)]);
    }
    insert(&place.store, 0..10);
    place.store.set_retention_ms(0).unwrap();
    (place, contents)
}

#[test]
fn a_backup_that_fails_leaves_the_one_before_it() {
    let (place, contents) = sample();
    create_table(&place.store, "u", &ints(0..1).schema());
    append(&place.store, "u", &[ints(0..10)]);
    let in_the_way = place.path("backup").join("segments").join(table(&place.store, "u").record().id.to_string());
    fs::write(&in_the_way, b"").unwrap();
    back_up(&place.store, &place.path("backup")).unwrap_err();
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("one")), contents);
    fs::remove_file(in_the_way).unwrap();
    place.backup();
    assert_eq!(values(&place.restored("two")), values(&place.store));
}

#[test]
fn a_backup_that_is_stopped_leaves_the_one_before_it_and_the_next_goes_on() {
    let (place, contents) = sample();
    let mut calls = 0;
    let error = place.store.backup(&place.path("backup"), true, &mut |_| {
        calls += 1;
        if calls == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("stopped") && error.contains("as it was"), "{error}");
    assert_eq!(values(&place.restored("one")), contents);
    let next = place.backup();
    assert!(next.unchanged.files > 0, "{next:?}");
    assert_eq!(values(&place.restored("two")), values(&place.store));
    let error = restore_backup(&place.path("backup"), &place.path("three"), true, &mut |_| ControlFlow::Break(()));
    assert!(error.unwrap_err().to_string().contains("nothing was restored"));
    assert!(!place.path("three").exists());
}

const CHILD_DIR: &str = "QUIVER_BACKUP_DIR";
const CHILD_NUMBER: &str = "QUIVER_BACKUP_NUMBER";

/// Runs the rest of a test in a child process on the place in `dir`; returns whether it succeeded.
fn run_child(test: &str, dir: &Path, number: usize) -> bool {
    let mut command = child(&format!("backup::failure::{test}"));
    command.env(CHILD_DIR, dir).env(CHILD_NUMBER, number.to_string());
    let output = command.stdin(Stdio::null()).output().unwrap();
    if output.status.code() == Some(101) {
        eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

fn child_place() -> (PathBuf, usize) {
    let variable = |name: &str| std::env::var(name).unwrap();
    (PathBuf::from(variable(CHILD_DIR)), variable(CHILD_NUMBER).parse().unwrap())
}

/// The rows in the backup of a place, which must be sound.
fn backed_up(dir: &Path) -> Vec<i64> {
    assert_eq!(problems_of(&dir.join("backup")), Vec::<String>::new());
    restore(&dir.join("backup"), &dir.join("restored")).unwrap();
    let contents = values(&open(&dir.join("restored")));
    fs::remove_dir_all(dir.join("restored")).unwrap();
    contents
}

#[test]
fn a_process_killed_in_a_backup_leaves_the_one_before_it() {
    if in_child() {
        let (dir, step) = child_place();
        let store = open_read_only(&dir.join("store")).unwrap();
        let mut calls = 0;
        let done = store.backup(&dir.join("backup"), true, &mut |_| {
            calls += 1;
            if calls == step {
                std::process::abort();
            }
            ControlFlow::Continue(())
        });
        done.unwrap();
        return;
    }
    let (Place { dir, store }, contents) = sample();
    let all = values(&store);
    drop(store);
    let mut step = 1;
    while !run_child("a_process_killed_in_a_backup_leaves_the_one_before_it", dir.path(), step) {
        assert_eq!(backed_up(dir.path()), contents, "killed at step {step}");
        step += 1;
        assert!(step < 50);
    }
    assert!(step > 5);
    assert_eq!(backed_up(dir.path()), all);
}

/// A file size limit acts like a full disk, at one file.
#[test]
fn a_disk_that_is_full_leaves_the_backup_before_and_no_more() {
    if in_child() {
        let (dir, limit) = child_place();
        let store = open_read_only(&dir.join("store")).unwrap();
        crate::child::limit_file_size(limit as u64);
        let copy = |to: &str| store.backup(&dir.join(to), true, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
        let error = copy("backup");
        assert!(error.contains("is full") && error.contains("the backup of version"), "{error}");
        let error = copy("first");
        assert!(error.contains("is full") && error.contains("no backup was made"), "{error}");
        assert!(!dir.join("first").exists());
        let error = restore_backup(&dir.join("backup"), &dir.join("other"), true, &mut |_| ControlFlow::Continue(()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("full") && error.contains("nothing was restored"), "{error}");
        assert!(!dir.join("other").exists());
        return;
    }
    let (Place { dir, store }, contents) = sample();
    append(&store, "t", &[ints(0..1_000_000)]);
    drop(store);
    let before = files_below(&dir.path().join("backup"));
    // First the catalog does not fit; then the large segment, or a log that is made again.
    for limit in [100 << 10, 3 << 20] {
        let test = "a_disk_that_is_full_leaves_the_backup_before_and_no_more";
        assert!(run_child(test, dir.path(), limit), "limit {limit}");
        assert_eq!(files_below(&dir.path().join("backup")), before);
        assert_eq!(backed_up(dir.path()), contents);
    }
}

#[test]
fn a_disk_that_is_full_at_the_last_step_of_a_restore_leaves_no_store() {
    if in_child() {
        let (dir, limit) = child_place();
        crate::child::limit_file_size(limit as u64);
        let error = restore(&dir.join("backup"), &dir.join("restored")).unwrap_err().to_string();
        assert!(error.contains("the disk with") && error.contains("is full; nothing was restored"), "{error}");
        assert!(!dir.join("restored").exists());
        return;
    }
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    place.backup();
    let size = fs::metadata(place.path("backup").join("state-1/catalog.redb")).unwrap().len();
    let test = "a_disk_that_is_full_at_the_last_step_of_a_restore_leaves_no_store";
    // The copy fits, but not what is written to it.
    assert!(run_child(test, place.dir.path(), size as usize));
}

#[test]
fn a_store_of_before_ids_opens_also_when_there_is_no_room_for_one() {
    if in_child() {
        let (dir, limit) = child_place();
        crate::child::limit_file_size(limit as u64);
        let store = open(&dir);
        assert!(read(&table(&store, "t")).num_rows() > 0);
        let error = back_up(&store, &dir.with_extension("backup")).unwrap_err().to_string();
        assert!(error.contains("open it for writing once"), "{error}");
        return;
    }
    let dir = copy_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1"));
    // The catalog is twice as large, and has its free pages at the end.
    let test = "a_store_of_before_ids_opens_also_when_there_is_no_room_for_one";
    assert!(run_child(test, dir.path(), 64 << 10));
    let other = tempfile::tempdir().unwrap();
    back_up(&open(dir.path()), &other.path().join("backup")).unwrap();
}
