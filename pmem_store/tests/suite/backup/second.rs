//! The next backup into the same directory adds what is new and removes what is not needed.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;

use super::*;
use crate::restore::{clear, insert, last, values};

fn inodes(paths: &[PathBuf]) -> Vec<u64> {
    paths.iter().map(|path| fs::metadata(path).unwrap().ino()).collect()
}

#[test]
fn a_second_backup_takes_only_what_is_new() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10_000)]);
    let first = place.backup();
    assert_eq!((first.linked.files, first.copied.files, first.unchanged.files), (4, 1, 0));
    let before = segments_of(&place.path("backup"));
    append(&place.store, "t", &[ints(10_000..20_000)]);
    insert(&place.store, 20_000..20_001);
    let second = place.backup();
    // The catalog and a log are copied each time.
    assert_eq!((second.linked.files, second.copied.files, second.unchanged.files), (4, 2, 4));
    assert_eq!(second.unchanged.bytes, first.linked.bytes);
    let after = segments_of(&place.path("backup"));
    assert!(after.len() == 2 && before.iter().all(|path| after.contains(path)));
    let third = place.backup();
    assert_eq!((third.linked.files, third.copied.files, third.unchanged.files), (0, 2, 8));
    assert_eq!(values(&place.restored("restored")), values(&place.store));
    let states = fs::read_dir(place.path("backup")).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let mut states: Vec<String> = states.collect();
    states.sort();
    assert_eq!(states, ["lock", "quiver-backup", "segments", "state-3"]);
}

#[test]
fn what_the_store_has_expired_is_removed_from_the_backup() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10_000)]);
    place.backup();
    clear(&place.store);
    place.backup();
    assert_eq!(segments_of(&place.path("backup")).len(), 1, "an older version has it");
    place.store.set_retention_ms(0).unwrap();
    place.backup();
    assert_eq!(segments_of(&place.path("backup")), Vec::<PathBuf>::new());
    assert_eq!(values(&place.restored("restored")), Vec::<i64>::new());
}

#[test]
fn a_backup_by_copies_shares_no_file_with_the_store() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10_000)]);
    let own = |place: &Place| inodes(&segments_of(&place.path("store")));
    let copy = |place: &Place| place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap();
    place.backup();
    assert_eq!(inodes(&segments_of(&place.path("backup"))), own(&place));
    // Linked files are copied now, and later are there already.
    let copied = copy(&place);
    assert_eq!((copied.linked.files, copied.copied.files, copied.unchanged.files), (0, 5, 0));
    assert_ne!(inodes(&segments_of(&place.path("backup"))), own(&place));
    let again = copy(&place);
    assert_eq!((again.copied.files, again.unchanged.files), (1, 4));
    // They stay copies for a caller that accepts links.
    let again = place.backup();
    assert_eq!((again.linked.files, again.unchanged.files), (0, 4));
    restore_backup(&place.path("backup"), &place.path("restored"), true, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_ne!(inodes(&segments_of(&place.path("restored"))), inodes(&segments_of(&place.path("backup"))));
    assert_eq!(values(&open(&place.path("restored"))), values(&place.store));
}

/// A snapshot of a file system, or of a machine, brings back a store that assigns ids a second time.
#[test]
fn two_segments_with_one_id_are_not_confused() {
    let Place { dir, store } = Place::new();
    drop(store);
    let set_back = copy_of(&dir.path().join("store"));
    let backup = dir.path().join("backup");
    let store = open(&dir.path().join("store"));
    append(&store, "t", &[ints(0..1_000)]);
    back_up(&store, &backup).unwrap();
    let store = open(set_back.path());
    append(&store, "t", &[ints(1_000..2_000)]);
    let report = back_up(&store, &backup).unwrap();
    assert_eq!(report.unchanged.files, 0);
    restore(&backup, &dir.path().join("restored")).unwrap();
    assert_eq!(values(&open(&dir.path().join("restored"))), (1_000..2_000).collect::<Vec<_>>());
}

#[test]
fn a_file_that_was_cut_short_or_lost_is_placed_again() {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..10_000)]);
    let copy = |place: &Place| place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap();
    copy(&place);
    let path = segments_of(&place.path("backup")).remove(0);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert_eq!(place.problems().len(), 1);
    assert_eq!(copy(&place).copied.files, 5);
    assert_eq!(place.problems(), Vec::<String>::new());
    fs::remove_file(path.with_extension("zones.arrow")).unwrap();
    assert_eq!(place.problems().len(), 1);
    assert_eq!(place.backup().linked.files, 4);
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("restored")), values(&place.store));
}

#[test]
fn a_backup_knows_its_version_and_time() {
    let place = Place::new();
    let report = place.backup();
    let verified = verify_backup(&place.path("backup"), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((verified.version, verified.created_at_ms), (last(&place.store), report.created_at_ms));
    let restored = restore(&place.path("backup"), &place.path("restored")).unwrap();
    assert_eq!((restored.version, restored.created_at_ms), (report.version, report.created_at_ms));
}
