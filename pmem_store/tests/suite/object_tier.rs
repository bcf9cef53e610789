//! Segments in an object store, which here is a directory: what is fetched and when, moves, what a crash or a lost object leaves.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{Int64Array, RecordBatch};
use pmem_store::{ObjectError, Segment, Store, StoreError, TableSnapshot, Tier, restore_backup};
use tempfile::TempDir;

use super::helpers::*;

const ROWS: usize = 200_000;

/// Two numbers and a text, of which the last is sometimes NULL.
fn wide() -> RecordBatch {
    let texts = strings(ROWS, |row| format!("a text that is longer than twelve bytes {row}"));
    let nullable = Int64Array::from_iter((0..ROWS as i64).map(|row| (row % 7 != 0).then_some(row)));
    let numbers = Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * row));
    batch(vec![("a", Arc::new(numbers)), ("b", texts), ("c", Arc::new(nullable))])
}

fn with_objects() -> (TempDir, TempDir, Store) {
    let (dir, store) = store_with(&[wide()]);
    let objects = tempfile::tempdir().unwrap();
    store.set_object_tier(Some(&format!("file://{}", objects.path().display()))).unwrap();
    (dir, objects, store)
}

fn move_all(store: &Store, tier: Tier) -> Result<u64, StoreError> {
    let table = table(store, "t");
    table.segments().iter().map(|segment| store.move_segment(table.record().id, segment, tier, &mut |_| Ok(()))).sum()
}

fn objects_below(objects: &TempDir) -> Vec<PathBuf> {
    files_below(objects.path())
        .into_iter()
        .map(|path| objects.path().join(path))
        .filter(|path| path.extension().is_some_and(|extension| extension == "arrow" || extension == "zst"))
        .collect()
}

fn soon(is_true: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while !is_true() && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_true()
}

fn all(table: &TableSnapshot) -> RecordBatch {
    read(table)
}

#[test]
fn rows_of_the_object_tier_are_fetched_column_by_column() {
    let (dir, objects, store) = with_objects();
    store.set_object_compression(false).unwrap();
    let before = all(&table(&store, "t"));
    let moved = move_all(&store, Tier::Object).unwrap();
    assert_eq!(move_all(&store, Tier::Object).unwrap(), 0);
    assert_eq!((table(&store, "t").segments()[0].tier(), objects_below(&objects).len()), (Tier::Object, 1));
    assert_eq!(fs::metadata(&objects_below(&objects)[0]).unwrap().len(), moved);
    // Whoever has the old file mapped reads it.
    assert_eq!(before, wide());
    drop(store);
    let store = open(dir.path());
    let segment = table(&store, "t").segments()[0].open().unwrap();
    assert_eq!((segment.row_count(), segment.is_fetched(0, &[0]), segment.is_fetched(0, &[])), (ROWS, false, true));
    let fetched = segment.fetch(&[0], &[0]).unwrap();
    assert_eq!((fetched.size_bytes, fetched.requests), (segment.batch_rows(0).len() as u64 * 8, 1));
    assert!(segment.is_fetched(0, &[0]) && !segment.is_fetched(0, &[0, 1]) && !segment.is_fetched(1, &[0]));
    assert_eq!(segment.fetch(&[0], &[0]).unwrap(), Default::default());
    assert_eq!(segment.batch(0, &[2]).unwrap().column(0).null_count(), segment.batch_rows(0).len().div_ceil(7));
    assert_eq!(all(&table(&store, "t")), wide());
    drop((segment, store));
    assert_eq!(all(&table(&open_read_only(dir.path()).unwrap(), "t")), wide());
}

#[test]
fn what_is_compressed_is_fetched_buffer_by_buffer_and_is_the_arrow_file_for_everybody_else() {
    let (dir, objects, store) = with_objects();
    let file = fs::read(table(&store, "t").segments()[0].path()).unwrap();
    move_all(&store, Tier::Object).unwrap();
    let compressed = fs::read(&objects_below(&objects)[0]).unwrap();
    assert!(compressed.len() < file.len() / 2, "{} of {}", compressed.len(), file.len());
    assert!(zstd::stream::decode_all(compressed.as_slice()).unwrap() == file);
    drop(store);
    let store = open(dir.path());
    let segment = table(&store, "t").segments()[0].open().unwrap();
    let fetched = segment.fetch(&[0], &[0]).unwrap();
    assert!(fetched.size_bytes > 0 && fetched.size_bytes < segment.batch_rows(0).len() as u64 * 8, "{fetched:?}");
    assert!(segment.is_fetched(0, &[0]) && !segment.is_fetched(0, &[0, 1]) && !segment.is_fetched(1, &[0]));
    assert_eq!(all(&table(&store, "t")), wide());
    // What was moved before stays as it is.
    store.set_object_compression(false).unwrap();
    drop((segment, store));
    let store = open(dir.path());
    assert_eq!(all(&table(&store, "t")), wide());
    move_all(&store, Tier::Pmem).unwrap();
    assert!(fs::read(table(&store, "t").segments()[0].path()).unwrap() == file);
}

#[test]
fn rows_come_back_from_the_object_tier_to_any_other() {
    let (dir, objects, store) = with_objects();
    let disk = tempfile::tempdir().unwrap();
    store.set_disk_tier(Some(disk.path())).unwrap();
    for tier in [Tier::Object, Tier::Disk, Tier::Object, Tier::Pmem, Tier::Disk, Tier::Object, Tier::Memory] {
        move_all(&store, tier).unwrap();
        assert_eq!((table(&store, "t").segments()[0].tier(), all(&table(&store, "t"))), (tier, wide()));
        let is_there = usize::from(tier >= Tier::Object || tier == Tier::Memory);
        assert!(soon(|| objects_below(&objects).len() == is_there), "{tier:?}");
    }
    assert_eq!(table(&store, "t").segments()[0].durable_tier(), Tier::Object);
    drop_table(&store, "t");
    store.set_retention_ms(0).unwrap();
    assert!(soon(|| objects_below(&objects).is_empty()));
    assert_eq!(segment_files(dir.path()), [] as [PathBuf; 0]);
}

/// A query has fetched one column when the segment leaves the object store.
#[test]
fn a_reader_goes_on_when_the_rows_have_moved() {
    for to in [Tier::Pmem, Tier::Object] {
        let (_dir, objects, store) = with_objects();
        move_all(&store, Tier::Object).unwrap();
        let sealed = table(&store, "t").segments()[0].record().sealed.clone();
        let segment = Segment::open(table(&store, "t").segments()[0].path(), &sealed).unwrap();
        segment.fetch(&[0], &[0]).unwrap();
        move_all(&store, Tier::Pmem).unwrap();
        // The file is another one, too.
        store.set_object_compression(false).unwrap();
        move_all(&store, to).unwrap();
        assert!(soon(|| objects_below(&objects).len() == usize::from(to == Tier::Object)));
        assert_eq!(read_segment(&segment), wide());
    }
}

#[test]
fn an_object_store_that_is_gone_fails_what_needs_it_and_loses_nothing() {
    let (dir, objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    append(&store, "t", &[wide()]);
    drop(store);
    let away = objects.path().with_extension("away");
    fs::rename(objects.path(), &away).unwrap();
    let store = open(dir.path());
    let segments = table(&store, "t").segments().to_vec();
    let error = segments[0].open().unwrap().batch(0, &[0]).unwrap_err();
    assert!(error.to_string().contains("the object store has no \"file://"), "{error}");
    segments[1].open().unwrap().batch(0, &[0]).unwrap();
    let table_id = table(&store, "t").record().id;
    let moved = |segment, tier| store.move_segment(table_id, segment, tier, &mut |_| Ok(()));
    moved(&segments[0], Tier::Pmem).unwrap_err();
    // It is gone, and not another store's.
    assert!(matches!(moved(&segments[1], Tier::Object), Err(StoreError::ObjectStore(ObjectError::NotFound { .. }))));
    fs::rename(&away, objects.path()).unwrap();
    moved(&segments[0], Tier::Pmem).unwrap();
    assert_eq!(all(&table(&store, "t")).num_rows(), 2 * ROWS);
}

#[test]
fn a_damaged_object_is_an_error_for_the_query_that_touches_it() {
    let (dir, objects, store) = with_objects();
    store.set_object_compression(false).unwrap();
    let place = table(&store, "t").segments()[0].open().unwrap().batch_place(0);
    move_all(&store, Tier::Object).unwrap();
    drop(store);
    let path = objects_below(&objects).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[(place.offset + place.metadata_bytes) as usize + 8] ^= 1;
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path());
    let segment = table(&store, "t").segments()[0].open().unwrap();
    assert!(matches!(segment.batch(0, &[0]), Err(StoreError::Damaged { .. })));
    segment.batch(0, &[1]).unwrap();
    let report = store.check(|_| {}).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
}

#[test]
fn a_damaged_compressed_object_gives_no_wrong_rows() {
    let (dir, objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    drop(store);
    let path = objects_below(&objects).remove(0);
    let bytes = fs::read(&path).unwrap();
    for part in 1..8 {
        let mut damaged = bytes.clone();
        damaged[bytes.len() * part / 8] ^= 1;
        fs::write(&path, damaged).unwrap();
        let store = open(dir.path());
        let segment = table(&store, "t").segments()[0].open().unwrap();
        let columns = (0..segment.batch_count()).flat_map(|batch| (0..3).map(move |column| (batch, column)));
        let found: Vec<Result<RecordBatch, StoreError>> = columns.map(|(batch, column)| segment.batch(batch, &[column])).collect();
        assert!(found.iter().flatten().count() >= found.len() - 1);
        assert!(found.iter().all(|read| matches!(read, Ok(_) | Err(StoreError::Damaged { .. }))), "{part}");
        assert_eq!(store.check(|_| {}).unwrap().problems.len(), found.iter().filter(|read| read.is_err()).count(), "{part}");
    }
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let store = open(dir.path());
    let segment = table(&store, "t").segments()[0].open().unwrap();
    assert!((0..segment.batch_count()).any(|batch| segment.batch(batch, &[0, 1, 2]).is_err()));
    drop((segment, store));
    fs::write(&path, &bytes).unwrap();
    assert_eq!(all(&table(&open(dir.path()), "t")), wide());
}

#[test]
fn a_check_tells_what_is_damaged_from_what_cannot_be_reached() {
    let (dir, objects, store) = with_objects();
    append(&store, "t", &[wide()]);
    move_all(&store, Tier::Object).unwrap();
    drop(store);
    let files = objects_below(&objects);
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() / 2]).unwrap();
    let report = open(dir.path()).check(|_| {}).unwrap();
    assert_eq!((report.problems.len(), report.unreachable), (1, vec![]), "{:?}", report.problems);
    // What is below a file can neither be read nor be said to be missing, as what is on a server that does not answer.
    let above = files[0].parent().unwrap();
    fs::remove_dir_all(above).unwrap();
    fs::write(above, "").unwrap();
    let report = open(dir.path()).check(|_| {}).unwrap();
    assert_eq!((report.problems, report.unreachable.len()), (vec![], 2));
    assert!(report.unreachable[0].starts_with("table main.t: the object store could not read"), "{:?}", report.unreachable);
}

#[test]
fn what_no_segment_leads_to_is_swept_by_its_owner_alone() {
    let (dir, objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    let file = objects_below(&objects).remove(0);
    let (older, unknown) = (file.with_file_name("2-1.arrow"), file.with_file_name("99-1.arrow"));
    let others = [older, unknown, file.with_file_name(format!("{}-1.arrow", table(&store, "t").segments()[0].id()))];
    let leave = || others.iter().for_each(|other| fs::write(other, "left").unwrap());
    leave();
    store.sweep_object_tier().unwrap();
    assert_eq!(objects_below(&objects), [file.clone()]);
    drop(store);
    leave();
    let copies = tempfile::tempdir().unwrap();
    let copied = copies.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(dir.path()).arg(&copied).status().unwrap().success());
    let copy = open(&copied);
    copy.sweep_object_tier().unwrap();
    assert_eq!(all(&table(&copy, "t")), wide());
    move_all(&copy, Tier::Pmem).unwrap();
    assert!(matches!(move_all(&copy, Tier::Object), Err(StoreError::OthersObjects { .. })));
    let url = copy.tiers().unwrap().object.unwrap();
    assert!(matches!(copy.set_object_tier(Some(&url)), Err(StoreError::TierInUse { .. })));
    drop_table(&copy, "t");
    copy.set_retention_ms(0).unwrap();
    drop(copy);
    assert_eq!(objects_below(&objects).len(), 4);
    assert_eq!(all(&table(&open(dir.path()), "t")), wide());
}

#[test]
fn a_backup_has_the_rows_of_the_object_tier() {
    let (_dir, _objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    let place = tempfile::tempdir().unwrap();
    let (backup, restored) = (place.path().join("backup"), place.path().join("restored"));
    store.backup(&backup, false, &mut |_| ControlFlow::Continue(())).unwrap();
    restore_backup(&backup, &restored, false, &mut |_| ControlFlow::Continue(())).unwrap();
    let again = open(&restored);
    assert_eq!((all(&table(&again, "t")), again.tiers().unwrap().object), (wide(), None));
    assert_eq!(table(&again, "t").segments()[0].tier(), Tier::Pmem);
}

/// The sweep compared whole URLs, and took all files for unlinked when the tier got another one for the same place.
#[test]
fn a_tier_under_another_url_keeps_its_files() {
    let (dir, objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    let other = tempfile::tempdir().unwrap().path().join("other");
    fs::create_dir(other.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(objects.path(), &other).unwrap();
    store.set_object_tier(Some(&format!("file://{}", other.display()))).unwrap();
    store.sweep_object_tier().unwrap();
    drop(store);
    assert_eq!((objects_below(&objects).len(), all(&table(&open(dir.path()), "t"))), (1, wide()));
    fs::remove_dir_all(other.parent().unwrap()).unwrap();
}

/// A move verified the rows, and the memory that had them was given to others before it copied them.
#[test]
fn rows_that_are_fetched_for_a_move_stay_until_it_ends() {
    let (dir, _objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    drop(store);
    let store = open(dir.path());
    let segment = table(&store, "t").segments()[0].open().unwrap();
    let is_moved = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_moved.load(Ordering::Relaxed) {
                segment.release_mapping();
            }
        });
        move_all(&store, Tier::Pmem).unwrap();
        is_moved.store(true, Ordering::Relaxed);
    });
    assert_eq!(all(&table(&store, "t")), wide());
}

#[test]
fn readers_of_one_segment_fetch_each_column_once() {
    let (dir, _objects, store) = with_objects();
    move_all(&store, Tier::Object).unwrap();
    drop(store);
    let segment = table(&open(dir.path()), "t").segments()[0].open().unwrap();
    let fetched: Vec<_> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..8).map(|_| scope.spawn(|| segment.fetch(&[0, 1], &[0, 2]).unwrap())).collect();
        readers.into_iter().map(|reader| reader.join().unwrap().size_bytes).collect()
    });
    assert_eq!(fetched.iter().filter(|bytes| **bytes > 0).count(), 1, "{fetched:?}");
}

#[test]
fn no_segment_leaves_the_file_system_while_a_file_may_be_opened_by_its_name() {
    let (_dir, objects, store) = with_objects();
    let (one, two) = (store.hand_off(), store.hand_off());
    drop(one);
    assert!(matches!(move_all(&store, Tier::Object), Err(StoreError::Refused(_))));
    assert_eq!(table(&store, "t").segments()[0].tier(), Tier::Pmem);
    drop(two);
    move_all(&store, Tier::Object).unwrap();
    store.sweep_object_tier().unwrap();
    assert_eq!(objects_below(&objects).len(), 1);
}

#[test]
fn what_is_no_object_store_is_refused() {
    let (dir, store) = fresh();
    for url in ["/mnt/disk", "ftp://host/dir", "s3:/bucket"] {
        assert!(matches!(store.set_object_tier(Some(url)), Err(StoreError::ObjectStore(_))), "{url}");
    }
    let missing = dir.path().with_extension("missing");
    let refused = store.set_object_tier(Some(&format!("file://{}", missing.display())));
    assert!(matches!(refused, Err(StoreError::DoesNotExist { kind: "directory", .. })) && !missing.exists(), "{refused:?}");
    assert_eq!(store.tiers().unwrap().object, None);
}
