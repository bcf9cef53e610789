//! Damaged files: an error that names the file, for the queries that need it and for no others.
//!
//! What could raise SIGBUS runs in a child: it would end the process.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use engine::{EngineError, EngineOptions};
use futures::StreamExt;

use super::helpers::{Db, in_a_process_of_its_own, numbers, options, rows_of, wait};

const ROWS: i64 = 300_000;

fn two_tables() -> Db {
    let db = Db::with(EngineOptions { threads: Some(1), ..options() });
    db.load("t", &[], &numbers(0, ROWS));
    db.load("other", &[], &numbers(0, 1_000));
    db
}

fn segment_file(db: &Db) -> PathBuf {
    db.table("t").segments()[0].path().to_owned()
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The text of the error names the file, and the other table is as it was.
fn names_the_file(db: &Db, sql: &str, file: &Path) {
    let error = db.error(sql);
    assert!(error.to_string().contains(name(file)), "{sql}: {error}");
    assert!(!matches!(error, EngineError::Internal(_)), "{error}");
    assert_eq!(db.rows("SELECT count(*), sum(id) FROM other WHERE k >= 0"), ["1000|499500"]);
}

fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at as usize] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn truncate(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_damaged_segment_among_many_is_an_error_that_names_it() {
    let db = two_tables();
    (0..20).for_each(|row| db.load("t", &[], &numbers(row, row + 1)));
    let file = db.table("t").segments()[11].path().with_extension("zones.arrow");
    let db = db.reopened();
    flip(&file, 100);
    names_the_file(&db, "SELECT count(*) FROM t", &file);
    flip(&file, 100);
    assert_eq!(db.rows("SELECT count(*) FROM t"), [(ROWS + 20).to_string()]);
}

#[test]
fn a_flipped_byte_in_a_column_is_an_error_for_the_queries_that_read_it() {
    let db = two_tables();
    let file = segment_file(&db);
    let dir = db.closed();
    // The ids are the first column, eight bytes a row: this is one of them.
    flip(&file, 100_000);
    let engine = engine::Engine::open(&dir.path().join("store"), options()).unwrap();
    let session = engine.session().unwrap();
    let try_run = |sql: &str| wait(super::helpers::run(&session, sql));
    for _ in 0..2 {
        let error = try_run("SELECT sum(id) FROM t").unwrap_err().to_string();
        assert!(error.contains(name(&file)) && error.contains("damaged"), "{error}");
    }
    assert_eq!(try_run("SELECT sum(k) FROM t").unwrap().rows(), ["1350000"]);
    assert_eq!(try_run("SELECT sum(id) FROM other").unwrap().rows(), ["499500"]);
    // No checksum of ours is left out by a join, a sort or an insert.
    for sql in [
        "SELECT count(*) FROM t a JOIN other b ON a.id = b.id",
        "SELECT id FROM t ORDER BY id DESC LIMIT 1",
        "INSERT INTO other SELECT * FROM t",
    ] {
        try_run(sql).unwrap_err();
    }
    assert_eq!(try_run("SELECT count(*) FROM other").unwrap().rows(), ["1000"]);
    try_run("DROP TABLE t").unwrap();
}

#[test]
fn a_flipped_byte_in_what_lies_beside_a_segment_is_an_error_that_names_it() {
    let db = two_tables();
    let segment = segment_file(&db);
    let stem = segment.file_stem().unwrap().to_str().unwrap().to_owned();
    let beside: Vec<PathBuf> = db
        .segment_files()
        .into_iter()
        .filter(|file| *file != segment && file.parent() == segment.parent() && name(file).starts_with(&stem))
        .collect();
    assert!(!beside.is_empty());
    let mut db = db;
    for file in beside {
        let whole = fs::read(&file).unwrap();
        flip(&file, whole.len() as u64 / 2);
        db = db.reopened();
        names_the_file(&db, "SELECT sum(id) FROM t", &file);
        fs::write(&file, whole).unwrap();
        db = db.reopened();
        assert_eq!(db.value("SELECT count(*) FROM t WHERE id >= 0"), ROWS.to_string());
    }
}

#[test]
fn a_segment_cut_short_between_openings_is_an_error_that_names_it() {
    let db = two_tables();
    let file = segment_file(&db);
    truncate(&file, 50_000);
    let db = db.reopened();
    names_the_file(&db, "SELECT sum(id) FROM t", &file);
    names_the_file(&db, "SELECT count(*) FROM t", &file);
    db.run("DROP TABLE t");
    assert_eq!(db.session.table_names(), ["other"]);
}

#[test]
fn a_segment_that_is_gone_is_an_error_that_names_it() {
    let db = two_tables();
    let file = segment_file(&db);
    fs::remove_file(&file).unwrap();
    let db = db.reopened();
    names_the_file(&db, "SELECT sum(id) FROM t", &file);
    assert_eq!(db.rows("SHOW TABLES").len(), 2);
    db.run("CREATE OR REPLACE TABLE t AS SELECT * FROM other");
    assert_eq!(db.value("SELECT count(*) FROM t"), "1000");
}

#[test]
fn a_segment_cut_short_under_a_running_stream_is_an_error_and_no_wrong_row() {
    in_a_process_of_its_own("fault::a_segment_cut_short_under_a_running_stream_is_an_error_and_no_wrong_row", || {
        let db = two_tables();
        let file = segment_file(&db);
        wait(async {
            let mut output = db.session.execute("SELECT id, s FROM t").await.unwrap();
            let mut rows = 0;
            let first = output.next().await.unwrap().unwrap();
            rows += first.num_rows() as i64;
            truncate(&file, 4_096);
            let error = loop {
                match output.next().await {
                    // Rows that were read before the cut are right.
                    Some(Ok(batch)) => {
                        for row in rows_of(&batch) {
                            assert_eq!(row, format!("{rows}|this is the text of row number {rows:08}"));
                            rows += 1;
                        }
                    }
                    Some(Err(error)) => break error,
                    None => panic!("{rows} rows and no error"),
                }
            };
            assert!(error.to_string().contains(name(&file)) && rows < ROWS, "{error}");
            assert!(output.next().await.is_none());
        });
        names_the_file(&db, "SELECT sum(id) FROM t", &file);
        names_the_file(&db, "SELECT id FROM t WHERE id = 200000", &file);
    });
}

#[test]
fn a_segment_cut_short_under_every_kind_of_query_is_an_error() {
    in_a_process_of_its_own("fault::a_segment_cut_short_under_every_kind_of_query_is_an_error", || {
        for sql in [
            "SELECT sum(id), max(s) FROM t",
            "SELECT s FROM t WHERE id > 250000",
            "SELECT s FROM t ORDER BY r LIMIT 10",
            "SELECT k, count(DISTINCT s) FROM t GROUP BY k",
            "SELECT count(*) FROM t JOIN other ON t.r = other.id",
            "SELECT count(*) FROM other LEFT JOIN t ON t.s = other.s",
            "INSERT INTO other SELECT * FROM t",
            "CREATE TABLE made AS SELECT s FROM t",
        ] {
            let db = Db::new();
            db.load("t", &[], &numbers(0, ROWS));
            db.load("other", &[], &numbers(0, 1_000));
            let file = segment_file(&db);
            // Mapped and known, but not read.
            db.run("EXPLAIN SELECT sum(id) FROM t");
            truncate(&file, 8_192);
            names_the_file(&db, sql, &file);
            assert_eq!(db.session.table_names(), ["other", "t"], "{sql}");
        }
    });
}

#[test]
fn rows_a_caller_still_holds_do_not_end_the_process_when_the_file_is_cut() {
    in_a_process_of_its_own("fault::rows_a_caller_still_holds_do_not_end_the_process_when_the_file_is_cut", || {
        let db = two_tables();
        let ran = db.run("SELECT id, k FROM t");
        truncate(&segment_file(&db), 4_096);
        assert_eq!(ran.rows().len() as i64, ROWS);
    });
}

#[test]
fn a_catalog_that_is_not_one_is_an_error_that_names_the_store() {
    let db = two_tables();
    let path = db.store_path();
    let dir = db.closed();
    fs::write(path.join("catalog.redb"), "not a catalog").unwrap();
    let error = engine::Engine::open(&path, options()).unwrap_err().to_string();
    assert!(error.contains("store") || error.contains("catalog"), "{error}");
    drop(dir);
}
