//! What is on disk after a statement, and after one that failed or was stopped.

use std::time::Duration;

use engine::{EngineError, EngineOptions};

use super::super::helpers::{Db, numbers, small_memory, soon, wait};
use super::{count, in_segments};

#[test]
fn a_delete_leaves_the_files_of_the_rows_as_they_are() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    let before = db.segment_files();
    assert_eq!(count(&db, "DELETE FROM t WHERE k = 3"), 5_000);
    assert_eq!(db.segment_files(), before);
    assert_eq!(count(&db, "DELETE FROM t WHERE k IN (3, 4)"), 5_000);
    assert_eq!(db.rows("SELECT count(*), min(k), count(DISTINCT k) FROM t"), ["40000|0|8"]);
    let db = db.reopened();
    assert_eq!(db.rows("SELECT count(*), min(k), count(DISTINCT k) FROM t"), ["40000|0|8"]);
}

#[test]
fn a_table_that_loses_all_rows_keeps_no_segment() {
    for sql in ["DELETE FROM t", "TRUNCATE t", "TRUNCATE TABLE main.t"] {
        let db = Db::new();
        db.load("t", &[], &numbers(0, 20_000));
        db.load("t", &[], &numbers(20_000, 30_000));
        count(&db, "DELETE FROM t WHERE id < 100");
        assert_eq!(count(&db, sql), 29_900, "{sql}");
        assert!(db.table("t").segments().is_empty(), "{sql}");
        assert_eq!(count(&db, sql), 0, "{sql}");
        assert_eq!(db.value("SELECT count(*) FROM t"), "0");
    }
}

#[test]
fn a_statement_that_changes_nothing_makes_no_version() {
    let db = Db::new();
    in_segments(&db, 1_000, 2);
    let version = db.engine.store().snapshot().unwrap().version();
    for sql in [
        "DELETE FROM t WHERE id < 0",
        "UPDATE t SET v = 1 WHERE id < 0",
        "MERGE INTO t USING (SELECT 1 AS x WHERE false) AS s ON t.id = s.x WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (1)",
    ] {
        assert_eq!(count(&db, sql), 0, "{sql}");
    }
    assert_eq!(db.engine.store().snapshot().unwrap().version(), version);
}

#[test]
fn a_statement_that_fails_midway_leaves_rows_and_files_as_they_were() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE strict (id bigint NOT NULL, v bigint)");
    db.run("INSERT INTO strict SELECT id, r FROM t");
    let before = db.segment_files();
    let version = db.engine.store().snapshot().unwrap().version();
    for sql in [
        "UPDATE t SET k = 1 / (id - 90000)",
        "DELETE FROM t WHERE 1 / (id - 90000) = 0",
        "UPDATE t SET k = other.id FROM t AS other WHERE t.k = other.k",
        "UPDATE strict SET id = CASE WHEN id = 90000 THEN NULL ELSE id END",
        "MERGE INTO t USING (SELECT id AS i FROM t) AS s ON t.id = s.i + 10 WHEN MATCHED THEN UPDATE SET k = 1 / (i - 90000) WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "MERGE INTO strict USING (SELECT 7 AS i) AS s ON false WHEN NOT MATCHED THEN INSERT (v) VALUES (i)",
    ] {
        db.error(sql);
        assert!(soon(|| db.segment_files() == before), "{sql}: {:?}", db.segment_files());
    }
    assert_eq!(db.engine.store().snapshot().unwrap().version(), version);
    assert_eq!(db.rows("SELECT count(*), sum(id), sum(k) FROM t"), ["100000|4999950000|450000"]);
}

#[test]
fn null_for_a_column_that_must_have_a_value_names_the_column() {
    let db = Db::new();
    in_segments(&db, 10, 1);
    let error = db.error("UPDATE t SET id = NULL WHERE v = 50");
    assert!(matches!(&error, EngineError::NotNull { table, column, .. } if table == "t" && column == "id"), "{error}");
}

#[test]
fn a_statement_that_is_dropped_changes_nothing_and_leaves_no_files() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 300_000));
    let before = db.segment_files();
    let slow = "UPDATE t SET s = t.s || other.s FROM t AS other WHERE t.r + other.r < -1";
    for after_ms in [1, 20, 100, 300] {
        let stopped = wait(async { tokio::time::timeout(Duration::from_millis(after_ms), db.session.execute(slow)).await });
        assert!(stopped.is_err(), "it takes long");
        assert!(soon(|| db.segment_files() == before), "{:?}", db.segment_files());
    }
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT s) FROM t"), ["300000|300000"]);
}

#[test]
fn an_update_of_an_ordered_table_writes_its_rows_in_order() {
    let db = Db::new();
    db.load("t", &["id"], &numbers(0, 60_000));
    assert_eq!(count(&db, "UPDATE t SET id = -id WHERE k = 7"), 6_000);
    assert_eq!(count(&db, "UPDATE t SET s = 'x' WHERE id BETWEEN 100 AND 199"), 90);
    let table = db.table("t");
    assert!(table.segments().iter().all(|segment| segment.record().sorted));
    let rows = db.rows("SELECT id FROM t ORDER BY id LIMIT 3");
    assert_eq!(rows, ["-59997", "-59987", "-59977"]);
    assert_eq!(db.rows("SELECT count(*), sum(id) FROM t WHERE id BETWEEN 95 AND 205"), ["100|15033"]);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE s = 'x'"), "90");
}

#[test]
fn more_rows_than_memory_holds_are_updated_in_order() {
    let db = Db::new();
    db.load("t", &["r"], &numbers(0, 600_000));
    let db = db.reopened_with(EngineOptions { threads: Some(1), ..small_memory(64) });
    let ran = db.run("UPDATE t SET r = -r, s = s || s");
    assert_eq!(ran.rows(), ["600000"]);
    assert!(ran.report.spilled_bytes > 0, "{:?}", ran.report);
    assert!(soon(|| db.spill_files().is_empty()));
    assert_eq!(db.rows("SELECT count(*), sum(r) + sum(id * 7919 % 1000003) FROM t"), ["600000|0"]);
    assert!(db.table("t").segments().iter().all(|segment| segment.record().sorted));
}
