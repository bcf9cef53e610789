//! What is on disk: during a compaction, after a crash in the middle of one, and when its old
//! segments go.

use std::path::Path;

use engine::Engine;
use futures::StreamExt;

use super::super::helpers::{Db, files_below, numbers, options, rows_of, run, soon, wait};
use super::{quick, segment_count, slowly_compacted, states, thousands, with};

fn copied(from: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files_below(from) {
        let target = copy.path().join("store").join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, target).unwrap();
    }
    copy
}

/// Bytes below `segments`.
fn bytes(db: &Db) -> u64 {
    db.segment_files().iter().map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
}

#[test]
fn a_crash_in_the_middle_of_a_compaction_leaves_the_table_as_it_was() {
    let db = Db::new();
    thousands(&db, 10);
    db.run("DELETE FROM t WHERE i % 3 = 0");
    let files = db.segment_files();
    let db = slowly_compacted(db);
    let copy = copied(&db.store_path());
    let engine = Engine::open(&copy.path().join("store"), options()).unwrap();
    let session = engine.session().unwrap();
    let found = wait(run(&session, "SELECT count(*), sum(i) FROM t")).unwrap().rows();
    assert_eq!(found, db.rows("SELECT count(*), sum(i) FROM t"));
    assert_eq!(files_below(&copy.path().join("store/segments")).len(), files.len());
    wait(run(&session, "OPTIMIZE TABLE t")).unwrap();
    assert_eq!(wait(run(&session, "SELECT count(*), sum(i) FROM t")).unwrap().rows(), found);
    // And what a crash right after it leaves.
    let again = copied(&copy.path().join("store"));
    let engine = Engine::open(&again.path().join("store"), options()).unwrap();
    let session = engine.session().unwrap();
    assert_eq!(wait(run(&session, "SELECT count(*), sum(i) FROM t")).unwrap().rows(), found);
}

#[test]
fn the_space_of_old_segments_comes_back_with_the_last_reader() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    let before = bytes(&db);
    db.run("DELETE FROM t WHERE k < 9");
    db.run("ALTER SYSTEM SET retention = '0'");
    wait(async {
        let mut reader = db.session.execute("SELECT id FROM t").await.unwrap();
        let mut ids = rows_of(&reader.next().await.unwrap().unwrap());
        let other = db.engine.session().unwrap();
        run(&other, "OPTIMIZE TABLE t").await.unwrap();
        assert!(bytes(&db) > before, "both are there");
        while let Some(batch) = reader.next().await {
            ids.extend(rows_of(&batch.unwrap()));
        }
        ids.sort_by_key(|id| id.parse::<u64>().unwrap());
        assert!(ids.into_iter().eq((0..100_000).filter(|id| id % 10 == 9).map(|id| id.to_string())));
    });
    assert!(soon(|| bytes(&db) < before / 5), "{} of {before}", bytes(&db));
    assert_eq!(db.reopened().rows("SELECT count(*), sum(k) FROM t"), ["10000|90000"]);
}

#[test]
fn old_segments_stay_as_long_as_their_versions_and_go_with_them() {
    let db = Db::new();
    thousands(&db, 8);
    let before = db.segment_files();
    db.run("OPTIMIZE TABLE t");
    assert!(before.iter().all(|file| file.exists()));
    assert_eq!(db.segment_files().len(), before.len() + 4);
    let kept_bytes: u64 = db.value("SELECT sum(kept_bytes) FROM system.snapshots").parse().unwrap();
    assert!(kept_bytes > 0);
    db.run("ALTER SYSTEM SET retention = '0'");
    assert_eq!(db.segment_files().len(), 4);
    assert_eq!(db.value("SELECT sum(kept_bytes) FROM system.snapshots"), "0");
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t"), ["8000|31996000"]);
}

#[test]
fn a_compaction_that_is_cancelled_leaves_no_file() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 600_000));
    db.run("ALTER TABLE t SET ORDER BY (s DESC)");
    let before = db.segment_files();
    for wait_ms in [1, 20, 60, 150] {
        wait(async {
            let optimize = db.session.execute("OPTIMIZE TABLE t");
            let _ = tokio::time::timeout(std::time::Duration::from_millis(wait_ms), optimize).await;
        });
        // A quick machine is done before it is cancelled, and what is cancelled after that has nothing to do.
        let is_done = || states(&db).iter().any(|state| state == "done");
        assert!(soon(|| db.segment_files() == before || is_done()), "{:?}", db.segment_files());
        if is_done() {
            break;
        }
    }
    assert!(soon(|| db.spill_files().is_empty()));
    assert_eq!(db.rows("SELECT count(*), sum(id), count(DISTINCT s) FROM t"), ["600000|179999700000|600000"]);
}

#[test]
fn a_full_disk_in_the_middle_of_a_compaction_changes_nothing() {
    let db = Db::new();
    thousands(&db, 4);
    let folder = db.table("t").segments()[0].path().parent().unwrap().to_owned();
    // What cannot be written stands for a disk that takes no more.
    let next: u64 = db.table("t").segments().last().unwrap().id();
    for id in next + 1..next + 200 {
        std::fs::create_dir(folder.join(format!("{id}.arrow"))).unwrap();
    }
    db.error("OPTIMIZE TABLE t");
    assert_eq!((segment_count(&db, "t"), states(&db)), (4, vec!["failed".to_string()]));
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t"), ["4000|7998000"]);
    for id in next + 1..next + 200 {
        let _ = std::fs::remove_dir(folder.join(format!("{id}.arrow")));
    }
    assert!(db.run("OPTIMIZE TABLE t").text().starts_with("4|1|"));
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t"), ["4000|7998000"]);
}

#[test]
fn a_table_that_is_dropped_while_it_is_compacted_leaves_no_file() {
    let db = Db::new();
    thousands(&db, 10);
    let db = slowly_compacted(db);
    db.run("DROP TABLE t");
    // Its reader goes with the engine.
    let db = db.reopened_with(with(quick()));
    assert_eq!(db.segment_files(), Vec::<std::path::PathBuf>::new());
}
