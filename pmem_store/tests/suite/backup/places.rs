//! The directories in which a backup may be, and those in which it may not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Barrier;
use std::time::Duration;

use pmem_store::BackupProgress;
use pmem_store::lock::{LockKind, StoreLock};

use super::*;
use crate::restore::{insert, values};

#[test]
fn a_backup_needs_a_directory_of_its_own() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    place.backup();
    let other = fresh();
    fs::create_dir_all(place.path("files/inside")).unwrap();
    fs::write(place.path("file"), b"").unwrap();
    symlink(place.path("store"), place.path("link")).unwrap();
    for (to, reason) in [
        (place.path("store"), "the store itself"),
        (place.path("link"), "the store itself"),
        (place.path("store/backup"), "inside the store"),
        (place.path("store/segments/1/deep/backup"), "inside the store"),
        (place.path("link/segments/../backup"), "inside the store"),
        (place.dir.path().to_path_buf(), "has other files"),
        (place.path("files"), "has other files"),
        (place.path("file"), "a file"),
        (other.0.path().to_path_buf(), "it is a store"),
    ] {
        let error = back_up(&place.store, &to).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("missing or empty"), "{}: {error}", to.display());
    }
    assert!(back_up(&place.store, &place.path("file/below")).is_err());
    assert_eq!(place.problems(), Vec::<String>::new());
    let error = back_up(&other.1, &place.path("backup")).unwrap_err().to_string();
    assert!(error.contains("another store"), "{error}");
    assert!(
        files_below(&place.path("files")).is_empty() && files_below(other.0.path()).iter().all(|path| !path.ends_with("quiver-backup"))
    );
}

#[test]
fn missing_parents_empty_directories_and_links_to_them_are_fine() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    fs::create_dir(place.path("empty")).unwrap();
    fs::create_dir(place.path("target")).unwrap();
    symlink(place.path("target"), place.path("link")).unwrap();
    for name in ["a/b/c", "empty", "link"] {
        back_up(&place.store, &place.path(name)).unwrap();
        back_up(&place.store, &place.path(name)).unwrap();
        restore(&place.path(name), &place.path(&format!("restored/{name}"))).unwrap();
        assert_eq!(values(&open(&place.path(&format!("restored/{name}")))), values(&place.store));
    }
}

#[test]
fn a_backup_that_is_write_protected_can_be_restored_and_the_store_written_to() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    insert(&place.store, 10..20);
    place.backup();
    for file in files_below(&place.path("backup")) {
        let path = place.path("backup").join(file);
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(path, permissions).unwrap();
    }
    assert_eq!(place.problems(), Vec::<String>::new());
    let restored = place.restored("restored");
    assert!(!fs::metadata(place.path("restored/catalog.redb")).unwrap().permissions().readonly());
    insert(&restored, 20..30);
    assert_eq!(values(&restored), (0..30).collect::<Vec<_>>());
}

#[test]
fn a_backup_is_no_store_and_a_store_no_backup() {
    let place = Place::new();
    place.backup();
    for read_only in [true, false] {
        let options = pmem_store::StoreOptions { read_only, ..Default::default() };
        let error = Store::open(&place.path("backup"), options).unwrap_err().to_string();
        assert!(error.contains("it is a backup") && error.contains("quiver restore"), "{error}");
    }
    let other = fresh();
    for (from, reason) in [
        (place.path("nothing"), "no such directory"),
        (other.0.path().to_path_buf(), "it is a store"),
        (place.dir.path().to_path_buf(), "no file"),
    ] {
        let before = files_below(other.0.path());
        let error = restore(&from, &place.path("restored")).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(files_below(other.0.path()), before);
    }
}

#[test]
fn a_store_is_restored_to_a_directory_of_its_own() {
    let place = Place::new();
    insert(&place.store, 0..10);
    place.backup();
    fs::write(place.path("file"), b"").unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    for (to, reason) in [
        (place.path("store"), "a store already"),
        (place.path("backup"), "inside the backup"),
        (place.path("backup/restored"), "inside the backup"),
        (place.dir.path().to_path_buf(), "not empty"),
        (place.path("file"), "a file"),
    ] {
        let error = restore(&place.path("backup"), &to).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("missing or empty"), "{}: {error}", to.display());
    }
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("empty")), values(&place.store));
}

#[test]
fn a_target_that_another_one_has_locked_is_left_as_it_is() {
    let place = Place::new();
    place.backup();
    fs::create_dir(place.path("taken")).unwrap();
    let lock = StoreLock::acquire(&place.path("taken"), LockKind::Exclusive).unwrap();
    let error = restore(&place.path("backup"), &place.path("taken")).unwrap_err().to_string();
    assert!(error.contains("in use by process"), "{error}");
    let error = back_up(&place.store, &place.path("taken")).unwrap_err().to_string();
    assert!(error.contains("another program"), "{error}");
    assert_eq!(files_below(&place.path("taken")), [Path::new("lock")]);
    drop(lock);
    assert_eq!(values(&place.restored("taken")), values(&place.store));
}

/// Runs `work` in two threads that start together; returns both results.
fn both<T: Send>(work: impl Fn() -> T + Sync) -> [T; 2] {
    let start = Barrier::new(2);
    let waiting = || {
        start.wait();
        work()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(waiting);
        [waiting(), other.join().unwrap()]
    })
}

fn slowly(_: BackupProgress) -> ControlFlow<()> {
    std::thread::sleep(Duration::from_millis(2));
    ControlFlow::Continue(())
}

#[test]
fn of_two_restores_to_one_target_one_makes_the_store_and_the_other_removes_nothing() {
    let place = Place::new();
    for at in 0..3 {
        append(&place.store, "t", &[ints(at * 10..at * 10 + 10)]);
    }
    place.backup();
    for round in 0..20 {
        let to = place.path(&format!("restored-{round}"));
        let done = both(|| restore_backup(&place.path("backup"), &to, false, &mut slowly));
        assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1, "{done:?}");
        assert!(to.join("lock").exists(), "{done:?}");
        let restored = open(&to);
        assert_eq!(values(&restored), (0..30).collect::<Vec<_>>(), "{done:?}");
        assert!(restored.check(|_| {}).unwrap().problems.is_empty());
    }
}

#[test]
fn of_two_first_backups_to_one_place_the_loser_leaves_the_lock() {
    let place = Place::new();
    for at in 0..3 {
        append(&place.store, "t", &[ints(at * 10..at * 10 + 10)]);
    }
    for round in 0..20 {
        let to = place.path(&format!("backup-{round}"));
        let done = both(|| place.store.backup(&to, false, &mut slowly));
        assert!(done.iter().any(|done| done.is_ok()), "{done:?}");
        assert!(to.join("lock").exists(), "{done:?}");
        assert_eq!(problems_of(&to), Vec::<String>::new());
    }
}

#[test]
fn a_backup_that_can_only_be_read_becomes_a_store_that_can_be_written() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    insert(&place.store, 10..20);
    place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap();
    for file in files_below(&place.path("backup")) {
        fs::set_permissions(place.path("backup").join(file), Permissions::from_mode(0o444)).unwrap();
    }
    restore(&place.path("backup"), &place.path("restored")).unwrap();
    for file in files_below(&place.path("restored")) {
        let mode = fs::metadata(place.path("restored").join(&file)).unwrap().permissions().mode();
        // Segments never change, whoever owns them.
        assert!(mode & 0o200 != 0 || file.extension().is_some_and(|suffix| suffix == "arrow"), "{}", file.display());
    }
    insert(&open(&place.path("restored")), 20..30);
    assert_eq!(values(&open(&place.path("restored"))), (0..30).collect::<Vec<_>>());
}

#[test]
fn a_backup_that_somebody_works_on_is_left_alone() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10)]);
    place.backup();
    append(&place.store, "t", &[ints(0..10)]);
    let to = place.path("backup");
    let mut inside = Vec::new();
    place
        .store
        .backup(&to, false, &mut |_| {
            inside.push(back_up(&place.store, &to).unwrap_err().to_string());
            inside.push(restore(&to, &place.path("restored")).unwrap_err().to_string());
            ControlFlow::Continue(())
        })
        .unwrap();
    let own = format!("process {}", std::process::id());
    assert!(!inside.is_empty() && inside.iter().all(|error| error.contains("another program") && error.contains(&own)), "{inside:?}");
    place.restored("restored");
}
