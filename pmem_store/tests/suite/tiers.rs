//! Segments on the disk tier: moves there and back, what a crash leaves, copies of a store, and what reads through the links.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use pmem_store::{Store, StoreError, TableSnapshot, Tier, restore_backup};
use tempfile::TempDir;

use super::helpers::*;

/// A store with one table of one segment, and a directory for its disk tier.
fn with_tier() -> (TempDir, TempDir, Store) {
    let (dir, store) = store_with(&[ints(0..10_000)]);
    let disk = tempfile::tempdir().unwrap();
    store.set_disk_tier(Some(disk.path())).unwrap();
    (dir, disk, store)
}

fn move_all(store: &Store, tier: Tier) -> Result<u64, StoreError> {
    let table = table(store, "t");
    table.segments().iter().map(|segment| store.move_segment(table.record().id, segment, tier, &mut |_| Ok(()))).sum()
}

/// The files of segments below a directory.
fn segments_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(segments_below(&path)),
            path if path.extension().is_some_and(|extension| extension == "arrow") => found.push(path),
            _ => {}
        }
    }
    found
}

fn rows(table: &TableSnapshot) -> usize {
    table.segments().iter().map(|segment| read_segment(&segment.open().unwrap()).num_rows()).sum()
}

#[test]
fn rows_move_to_the_disk_tier_and_back() {
    let (_dir, disk, store) = with_tier();
    let before = table(&store, "t");
    let first = read_segment(&before.segments()[0].open().unwrap());
    let copied = move_all(&store, Tier::Disk).unwrap();
    assert_eq!(copied, before.segments()[0].record().sealed.size_bytes);
    assert_eq!(move_all(&store, Tier::Disk).unwrap(), 0);
    assert_eq!((before.segments()[0].tier(), segments_below(disk.path()).len()), (Tier::Disk, 1));
    assert_eq!(read_segment(&table(&store, "t").segments()[0].open().unwrap()), first);
    // Batches from before the move are still those of the old file.
    assert_eq!(first.num_rows(), 10_000);
    move_all(&store, Tier::Pmem).unwrap();
    assert_eq!((before.segments()[0].tier(), segments_below(disk.path()).len()), (Tier::Pmem, 0));
    assert_eq!(read_segment(&table(&store, "t").segments()[0].open().unwrap()), first);
}

#[test]
fn a_store_that_is_opened_again_reads_through_the_links_and_changes_what_is_there() {
    let (dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    append(&store, "t", &[ints(10_000..20_000)]);
    drop(store);
    assert_eq!(rows(&table(&open_read_only(dir.path()).unwrap(), "t")), 20_000);
    let store = open(dir.path());
    assert_eq!((store.tiers().unwrap().disk.unwrap(), rows(&table(&store, "t"))), (disk.path().to_path_buf(), 20_000));
    move_all(&store, Tier::Disk).unwrap();
    assert_eq!(segments_below(disk.path()).len(), 2);
    drop_table(&store, "t");
    store.set_retention_ms(0).unwrap();
    assert_eq!(segments_below(disk.path()), [] as [PathBuf; 0]);
    assert_eq!(segments_below(dir.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_move_that_is_stopped_leaves_the_rows_where_they_are() {
    let (_dir, disk, store) = with_tier();
    for (from, to) in [(Tier::Pmem, Tier::Disk), (Tier::Disk, Tier::Pmem)] {
        let table = table(&store, "t");
        let stopped = store.move_segment(table.record().id, &table.segments()[0], to, &mut |_| Err(StoreError::Refused("stop".into())));
        assert!(matches!(stopped, Err(StoreError::Refused(_))));
        assert_eq!((table.segments()[0].tier(), rows(&table)), (from, 10_000));
        assert_eq!(segments_below(disk.path()).len(), usize::from(from == Tier::Disk));
        move_all(&store, to).unwrap();
    }
}

/// A crash between the copy and the link leaves the copy, and one before the rename a file under another name.
#[test]
fn what_a_crash_leaves_of_a_move_is_removed() {
    let (dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    let (id, file) = (table(&store, "t").record().id, segments_below(disk.path()).remove(0));
    drop(store);
    let copy = file.with_file_name("99.arrow");
    fs::copy(&file, &copy).unwrap();
    let segments = dir.path().join("segments").join(id.to_string());
    let half = segments.join("1.moving");
    fs::write(&half, "half").unwrap();
    fs::write(dir.path().join("dirty"), "").unwrap();
    let store = open(dir.path());
    assert_eq!((copy.exists(), half.exists(), file.exists()), (false, false, true));
    assert_eq!(rows(&table(&store, "t")), 10_000);
}

/// The directory has several names, and its disk may be mounted elsewhere.
#[test]
fn a_disk_tier_under_another_name_keeps_its_files() {
    let (dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    let names = tempfile::tempdir().unwrap();
    let other_name = names.path().join("other");
    std::os::unix::fs::symlink(disk.path(), &other_name).unwrap();
    store.set_disk_tier(Some(&other_name)).unwrap();
    drop(store);
    fs::write(dir.path().join("dirty"), "").unwrap();
    let store = open(dir.path());
    assert_eq!((segments_below(disk.path()).len(), rows(&table(&store, "t"))), (1, 10_000));
    // Elsewhere: the links lead to where it was.
    drop(store);
    let moved = disk.path().with_extension("moved");
    fs::rename(disk.path(), &moved).unwrap();
    let store = open(dir.path());
    store.set_disk_tier(Some(&moved)).unwrap();
    drop(store);
    fs::write(dir.path().join("dirty"), "").unwrap();
    drop(open(dir.path()));
    assert_eq!(segments_below(&moved).len(), 1);
    fs::rename(&moved, disk.path()).unwrap();
    assert_eq!(rows(&table(&open(dir.path()), "t")), 10_000);
}

#[test]
fn an_empty_mount_point_is_no_disk_tier() {
    let (dir, disk, store) = with_tier();
    fs::remove_dir_all(disk.path()).unwrap();
    fs::create_dir(disk.path()).unwrap();
    assert!(matches!(move_all(&store, Tier::Disk), Err(StoreError::TierNotMounted { .. })));
    assert!(matches!(store.set_disk_tier(Some(disk.path())), Err(StoreError::TierNotMounted { .. })));
    for wrong in [disk.path().join("missing"), dir.path().join("segments")] {
        store.set_disk_tier(Some(&wrong)).unwrap_err();
    }
    store.set_disk_tier(None).unwrap();
    store.set_disk_tier(Some(disk.path())).unwrap();
    move_all(&store, Tier::Disk).unwrap();
}

/// What the store does not know in its directory it may remove. A directory around it has files of the tier beside it.
#[test]
fn a_tier_lies_outside_of_the_store_and_may_lie_around_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let store = open(&path);
    create_table(&store, "t", &ints(0..1).schema());
    append(&store, "t", &[ints(0..10_000)]);
    for inside in [path.clone(), path.join("segments")] {
        let before = files_below(&path);
        for refused in [store.set_disk_tier(Some(&inside)), store.set_object_tier(Some(&format!("file://{}", inside.display())))] {
            let error = refused.unwrap_err().to_string();
            assert!(error.ends_with("lies in the store's own directory; give the tier one outside of it"), "{error}");
        }
        assert_eq!(files_below(&path), before);
    }
    store.set_disk_tier(Some(place.path())).unwrap();
    move_all(&store, Tier::Disk).unwrap();
    drop(store);
    fs::write(path.join("dirty"), "").unwrap();
    let store = open(&path);
    assert_eq!((rows(&table(&store, "t")), table(&store, "t").segments()[0].tier()), (10_000, Tier::Disk));
    move_all(&store, Tier::Pmem).unwrap();
    drop_table(&store, "t");
    store.set_retention_ms(0).unwrap();
    drop(store);
    assert!(open(&path).check(|_| {}).unwrap().problems.is_empty());
}

#[test]
fn a_damaged_segment_is_not_moved() {
    let (_dir, disk, store) = with_tier();
    let path = table(&store, "t").segments()[0].path().to_path_buf();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    move_all(&store, Tier::Disk).unwrap_err();
    assert_eq!((table(&store, "t").segments()[0].tier(), segments_below(disk.path()).len()), (Tier::Pmem, 0));
}

#[test]
fn a_copy_of_a_store_takes_nothing_from_the_original() {
    let (dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    drop(store);
    let copies = tempfile::tempdir().unwrap();
    let copied = copies.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(dir.path()).arg(&copied).status().unwrap().success());
    let copy = open(&copied);
    assert_eq!(rows(&table(&copy, "t")), 10_000);
    append(&copy, "t", &[ints(0..10)]);
    assert!(matches!(move_all(&copy, Tier::Disk), Err(StoreError::OthersTier { .. })));
    assert!(matches!(copy.set_disk_tier(Some(disk.path())), Err(StoreError::TierInUse { .. })));
    move_all(&copy, Tier::Pmem).unwrap();
    drop_table(&copy, "t");
    copy.set_retention_ms(0).unwrap();
    drop(copy);
    assert_eq!((segments_below(disk.path()).len(), rows(&table(&open(dir.path()), "t"))), (1, 10_000));
}

/// Its next open removes what the original has put there since, so it must be gone.
#[test]
fn a_copy_gets_the_tier_when_the_original_is_gone() {
    let (dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    drop(store);
    let copies = tempfile::tempdir().unwrap();
    let copied = copies.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(dir.path()).arg(&copied).status().unwrap().success());
    fs::remove_dir_all(dir.path()).unwrap();
    let copy = open(&copied);
    assert!(matches!(move_all(&copy, Tier::Disk), Ok(0)));
    copy.set_disk_tier(Some(disk.path())).unwrap();
    append(&copy, "t", &[ints(10_000..20_000)]);
    move_all(&copy, Tier::Disk).unwrap();
    // A store that is renamed stays the owner.
    drop(copy);
    fs::rename(&copied, dir.path()).unwrap();
    let store = open(dir.path());
    store.set_disk_tier(Some(disk.path())).unwrap();
    assert_eq!((segments_below(disk.path()).len(), rows(&table(&store, "t"))), (2, 20_000));
}

#[test]
fn a_backup_has_the_rows_of_every_tier() {
    let (_dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    for copies in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let (backup, restored) = (place.path().join("backup"), place.path().join("restored"));
        store.backup(&backup, copies, &mut |_| ControlFlow::Continue(())).unwrap();
        restore_backup(&backup, &restored, copies, &mut |_| ControlFlow::Continue(())).unwrap();
        let again = open(&restored);
        assert_eq!((rows(&table(&again, "t")), again.tiers().unwrap().disk), (10_000, None));
        assert_eq!(table(&again, "t").segments()[0].tier(), Tier::Pmem);
        drop_table(&again, "t");
        again.set_retention_ms(0).unwrap();
        assert_eq!(segments_below(disk.path()).len(), 1);
    }
}

#[test]
fn a_disk_that_is_not_there_is_named() {
    let (dir, disk, store) = with_tier();
    move_all(&store, Tier::Disk).unwrap();
    drop(store);
    let away = disk.path().with_extension("away");
    fs::rename(disk.path(), &away).unwrap();
    let store = open(dir.path());
    let error = table(&store, "t").segments()[0].open().unwrap_err();
    assert!(error.to_string().contains("is the disk of that directory mounted?"), "{error}");
    let report = store.check(|_| {}).unwrap();
    assert_eq!((report.problems, report.unreachable.len()), (vec![], 1));
    fs::rename(&away, disk.path()).unwrap();
    assert_eq!(rows(&table(&store, "t")), 10_000);
}

#[test]
fn a_store_without_a_disk_tier_moves_nothing_there() {
    let (_dir, store) = store_with(&[ints(0..10)]);
    assert!(matches!(move_all(&store, Tier::Disk), Err(StoreError::NoTier { tier: "disk", .. })));
    assert!(matches!(move_all(&store, Tier::Object), Err(StoreError::NoTier { tier: "object", .. })));
    assert_eq!(move_all(&store, Tier::Pmem).unwrap(), 0);
}

#[test]
fn a_full_tier_takes_nothing_more() {
    let (_dir, disk, store) = with_tier();
    store.set_tier_limit(Tier::Disk, Some(1_000)).unwrap();
    assert!(matches!(move_all(&store, Tier::Disk), Err(StoreError::TierFull { tier: "disk", limit_bytes: 1_000, .. })));
    assert_eq!((table(&store, "t").segments()[0].tier(), segments_below(disk.path()).len()), (Tier::Pmem, 0));
    store.set_tier_limit(Tier::Disk, None).unwrap();
    move_all(&store, Tier::Disk).unwrap();
}

#[test]
fn a_copy_in_memory_is_read_until_its_memory_is_given_back() {
    let (dir, _disk, store) = with_tier();
    for durable in [Tier::Pmem, Tier::Disk] {
        move_all(&store, durable).unwrap();
        move_all(&store, Tier::Memory).unwrap();
        let segment = table(&store, "t").segments()[0].clone();
        assert_eq!((segment.tier(), segment.durable_tier()), (Tier::Memory, durable));
        assert_eq!(read_segment(&segment.open().unwrap()), ints(0..10_000));
        move_all(&store, durable).unwrap();
        assert_eq!((segment.tier(), read_segment(&segment.open().unwrap())), (durable, ints(0..10_000)));
    }
    move_all(&store, Tier::Memory).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!((table(&store, "t").segments()[0].tier(), rows(&table(&store, "t"))), (Tier::Disk, 10_000));
}

/// The scan in a test reads its arrays while the copy would take the place of their mapping.
#[test]
fn a_segment_that_is_being_read_is_not_copied_to_memory() {
    let (_dir, _disk, store) = with_tier();
    let held = table(&store, "t").segments()[0].open().unwrap().stored_batch(0, &[0]).unwrap();
    let mut looks = 0;
    let table = table(&store, "t");
    let refused = store.move_segment(table.record().id, &table.segments()[0], Tier::Memory, &mut |_| {
        looks += 1;
        Ok(())
    });
    assert!(matches!(refused, Err(StoreError::Refused(_))) && looks > 1, "{refused:?}");
    assert_eq!(table.segments()[0].tier(), Tier::Pmem);
    drop(held);
    assert!(move_all(&store, Tier::Memory).unwrap() > 0);
}
