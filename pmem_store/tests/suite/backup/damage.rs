//! Each kind of damage to a backup is found, named, and prevents a restore.

use std::fs;
use std::os::unix::fs::FileExt;

use super::*;
use crate::restore::{insert, values};

fn sample() -> Place {
    let place = Place::new();
    append(&place.store, "t", &[ints(0..50_000)]);
    insert(&place.store, 50_000..50_100);
    place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap();
    place
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
}

#[test]
fn damage_of_any_kind_is_found_and_named_and_nothing_is_restored() {
    type Hurt = fn(&Path);
    let flipped: Hurt = |path| flip(path, fs::metadata(path).unwrap().len() as usize / 2);
    let missing: Hurt = |path| fs::remove_file(path).unwrap();
    let empty: Hurt = |path| fs::write(path, b"").unwrap();
    let place = sample();
    let backup = place.path("backup");
    let files = files_below(&backup);
    let segment = segments_of(&backup).remove(0);
    let log = backup.join(files.iter().find(|path| path.extension().is_some_and(|suffix| suffix == "log")).unwrap());
    let mut victims = vec![segment.clone(), log, backup.join("state-1/catalog.redb")];
    victims.extend(["sums.arrow", "zones.arrow", "columns.arrow"].map(|suffix| segment.with_extension(suffix)));
    for victim in victims {
        for (hurt, name) in [(flipped, "flipped"), (missing, "gone"), (empty, "empty"), (cut as Hurt, "cut")] {
            let sound = fs::read(&victim).unwrap();
            hurt(&victim);
            let problems = place.problems();
            let file = victim.file_name().unwrap().to_str().unwrap();
            assert!(problems.len() == 1 && problems[0].contains(file), "{name} {file}: {problems:?}");
            let error = restore(&backup, &place.path("restored")).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("damaged"), "{name} {file}: {error}");
            assert!(!place.path("restored").exists(), "{name} {file}");
            fs::write(&victim, sound).unwrap();
        }
    }
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("restored")), values(&place.store));
}

#[test]
fn a_damaged_head_stops_everything() {
    let place = sample();
    let head = place.path("backup").join("quiver-backup");
    let sound = fs::read(&head).unwrap();
    for at in 0..sound.len() {
        flip(&head, at);
        let error = restore(&place.path("backup"), &place.path("restored")).unwrap_err().to_string();
        assert!(error.contains("quiver-backup") && error.contains("damaged"), "{at}: {error}");
        fs::write(&head, &sound).unwrap();
    }
    cut(&head);
    // It is not overwritten either: a user may still want the content.
    let error = back_up(&place.store, &place.path("backup")).unwrap_err().to_string();
    assert!(error.contains("quiver-backup") && error.contains("damaged"), "{error}");
    assert!(!place.path("restored").exists());
}

#[test]
fn a_head_of_a_later_format_asks_for_a_newer_version() {
    let place = sample();
    let head = place.path("backup").join("quiver-backup");
    let line = "{\"format\":2,\"all\":\"other\"}";
    let checksum = twox_hash::XxHash3_64::oneshot(line.as_bytes());
    fs::write(&head, format!("{line}\n{checksum:016x}\n")).unwrap();
    let error = restore(&place.path("backup"), &place.path("restored")).unwrap_err().to_string();
    assert!(error.contains("format 2") && error.contains("newer version"), "{error}");
}

#[test]
fn unnamed_files_do_no_harm_and_go_with_the_next_backup() {
    let place = sample();
    let backup = place.path("backup");
    let (before, contents) = (files_below(&backup).len(), values(&place.store));
    let segment = segments_of(&backup).remove(0);
    for name in ["99-0123456789abcdef.arrow", "99-0123456789abcdef.sums.arrow", "new-1-0123456789abcdef.arrow"] {
        fs::write(segment.with_file_name(name), b"left").unwrap();
    }
    fs::create_dir(backup.join("state-7")).unwrap();
    fs::write(backup.join("quiver-backup.new"), b"").unwrap();
    fs::write(backup.join("notes.txt"), b"mine").unwrap();
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("restored")), contents);
    place.backup();
    assert_eq!(files_below(&backup).len(), before + 1, "the notes");
}

#[test]
fn a_damaged_file_of_the_store_is_not_copied_and_the_backup_stays() {
    let place = sample();
    append(&place.store, "t", &[ints(100_000..150_000)]);
    let contents = values(&place.restored("restored"));
    let path = place.path("store").join("segments").join(segment_files(&place.path("store")).pop().unwrap());
    let path = if path.extension().is_some_and(|suffix| suffix == "log") {
        table(&place.store, "t").segments()[1].path().to_path_buf()
    } else {
        path
    };
    flip(&path, fs::metadata(&path).unwrap().len() as usize / 2);
    let error = place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("quiver check") && error.contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("again")), contents);
    cut(&path);
    let error = back_up(&place.store, &place.path("backup")).unwrap_err().to_string();
    assert!(error.contains("quiver check"), "{error}");
}

/// An offset in the message of the first record of a log.
const IN_FIRST_RECORD: u64 = 4096 + 64 + 100;

/// It does not truncate the file on the way, because the file is mapped.
fn flip_in_place(path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

fn log_of(dir: &Path) -> PathBuf {
    let path = files_below(dir).into_iter().find(|path| path.extension().is_some_and(|suffix| suffix == "log"));
    dir.join(path.unwrap())
}

#[test]
fn a_damaged_log_of_the_store_is_not_copied_and_the_backup_stays() {
    let place = sample();
    let contents = values(&place.restored("restored"));
    insert(&place.store, 60_000..60_010);
    let log = log_of(&place.path("store"));
    flip_in_place(&log, IN_FIRST_RECORD);
    let error = back_up(&place.store, &place.path("backup")).unwrap_err().to_string();
    assert!(error.contains("quiver check") && error.contains(log.to_str().unwrap()), "{error}");
    assert!(error.contains("byte 4096: a record is not whole"), "{error}");
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("again")), contents);
}

#[test]
fn a_log_that_was_damaged_before_its_checksum_was_taken_is_found() {
    let place = sample();
    let (log, head) = (log_of(&place.path("backup")), place.path("backup").join("quiver-backup"));
    let xxh3 = |path: &Path| twox_hash::XxHash3_64::oneshot(&fs::read(path).unwrap());
    let before = xxh3(&log);
    flip(&log, IN_FIRST_RECORD as usize);
    let text = fs::read_to_string(&head).unwrap();
    let line = text.lines().next().unwrap().replace(&before.to_string(), &xxh3(&log).to_string());
    fs::write(&head, format!("{line}\n{:016x}\n", twox_hash::XxHash3_64::oneshot(line.as_bytes()))).unwrap();
    let problems = place.problems();
    assert!(problems.len() == 1 && problems[0].contains(log.to_str().unwrap()) && problems[0].contains("not whole"), "{problems:?}");
    let error = restore(&place.path("backup"), &place.path("restored")).unwrap_err().to_string();
    assert!(error.contains("not whole") && error.contains("nothing was restored"), "{error}");
}

#[test]
fn a_damaged_copy_replaces_no_file() {
    let place = sample();
    let segment = segments_of(&place.path("backup")).remove(0);
    let own = table(&place.store, "t").segments()[0].path().to_path_buf();
    // One file is still a link, so all are copied again.
    let (zones, own_zones) = (segment.with_extension("zones.arrow"), own.with_extension("zones.arrow"));
    fs::remove_file(&zones).unwrap();
    fs::hard_link(own_zones, zones).unwrap();
    let contents = values(&place.restored("restored"));
    flip_in_place(&own, fs::metadata(&own).unwrap().len() / 2);
    let before = files_below(&place.path("backup"));
    let error = place.store.backup(&place.path("backup"), true, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("quiver check") && error.contains(own.to_str().unwrap()), "{error}");
    assert_eq!(place.problems(), Vec::<String>::new());
    assert_eq!(values(&place.restored("again")), contents);
    let before = before.into_iter().chain([PathBuf::from("quiver-backup.new")]).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(files_below(&place.path("backup")).into_iter().collect::<std::collections::BTreeSet<_>>(), before);
}
