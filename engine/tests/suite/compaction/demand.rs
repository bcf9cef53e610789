//! OPTIMIZE TABLE, CHECKPOINT and FLUSH.

use engine::StatementKind;

use super::super::helpers::{Db, numbers, options, small_memory};
use super::super::time_travel::version;
use super::{in_segments, insert, segment_count, states, thousands};

const COLUMNS: &str = "id INT, a TINYINT, b SMALLINT UNSIGNED, c BIGINT, d REAL, e DOUBLE, f DECIMAL(9,2), g DECIMAL(38,10), h BOOLEAN, \
    i DATE, j TIME, k TIMESTAMP, l TIMESTAMP WITH TIME ZONE, m VARCHAR, n BYTEA, o INT[], p STRUCT<x INT, y VARCHAR>, q INTERVAL";

const ROWS: [&str; 5] = [
    "(1, 1, 65535, -5, 1.5, 'NaN', 1234567.89, 0.0000000001, true, '2024-02-29', '12:34:56.789', '2024-01-01 00:00:00.000001', \
      '2024-01-01 00:00:00+02:00', 'short', X'00ff', [1, NULL, 3], named_struct('x', 1, 'y', 'one'), INTERVAL '1 month 2 days')",
    "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(3, -128, 0, 9223372036854775807, '-inf', '-0.0', -0.01, -12345678901234567890.0123456789, false, '0001-01-01', '00:00:00', \
      '1969-12-31 23:59:59', '2200-12-31 00:00:00+00:00', '', X'', [], named_struct('x', NULL, 'y', NULL), INTERVAL '-1 hour')",
    "(4, 127, 1, 0, 0, 1e300, 0, 0, true, '2262-04-11', '23:59:59', '2024-06-01 12:00:00', '1970-01-01 00:00:00+00:00', \
      'a text that is longer than what fits into a view of its own', X'00112233445566778899aabbccddeeff00', [7], \
      named_struct('x', 4, 'y', 'another text that is longer than twelve bytes'), NULL)",
    "(5, 0, 7, 42, -1.25, 'Infinity', 5, 5, NULL, '1970-01-01', NULL, NULL, NULL, 'ü€😀', NULL, NULL, NULL, INTERVAL '1 day')",
];

#[test]
fn rows_of_all_types_are_the_same_before_and_after() {
    for order in ["", " ORDER BY (m, id)", " ORDER BY (e DESC, g)", " ORDER BY (k NULLS FIRST)", " ORDER BY (n)", " ORDER BY (h, d)"] {
        let db = Db::new();
        db.run(&format!("CREATE TABLE t ({COLUMNS}){order}"));
        in_segments(&db, ROWS.iter().map(|row| format!("INSERT INTO t VALUES {row}")));
        in_segments(&db, ["INSERT INTO t SELECT * FROM t".to_string(), "UPDATE t SET a = 9 WHERE id = 5".into()]);
        let before = db.sorted_rows("SELECT * FROM t");
        assert!(before.len() == 10 && segment_count(&db, "t") > 5);
        for full in ["", " FULL"] {
            db.run(&format!("OPTIMIZE TABLE t{full}"));
            assert_eq!(segment_count(&db, "t"), 1, "{order}");
            assert_eq!(db.sorted_rows("SELECT * FROM t"), before, "{order}{full}");
        }
        assert_eq!(db.value("SELECT sum(deleted_rows) FROM system.segments"), "0");
        let db = db.reopened();
        assert_eq!(db.sorted_rows("SELECT * FROM t"), before, "{order}");
        assert_eq!(db.rows("SELECT id FROM t WHERE m = 'ü€😀' AND a = 9"), ["5", "5"]);
    }
}

#[test]
fn it_says_of_how_many_segments_how_many_came() {
    let db = Db::new();
    thousands(&db, 5);
    db.run(&insert("t", 5));
    let ran = db.run("OPTIMIZE TABLE t");
    assert_eq!(ran.kind, StatementKind::Query);
    // Five segments and a log.
    assert!(ran.text().starts_with("6|1|"), "{}", ran.text());
    assert_eq!(db.rows("SELECT count(*), sum(i), min(s) FROM t"), ["6000|17997000|row 0"]);
    assert!(db.run("optimize table MAIN.T full;").text().starts_with("1|1|"));
    assert_eq!(states(&db), ["done"]);
}

#[test]
fn without_full_deleted_rows_that_no_scan_notices_stay_and_with_it_none_does() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("DELETE FROM t WHERE k = 3 AND id < 4000");
    let deleted = || db.value("SELECT sum(deleted_rows) FROM system.segments");
    db.run("OPTIMIZE TABLE t");
    assert_eq!(deleted(), "400");
    db.run("DELETE FROM t WHERE k = 3 AND id < 10000");
    db.run("OPTIMIZE TABLE t");
    assert_eq!(deleted(), "0");
    db.run("DELETE FROM t WHERE k = 3");
    db.run("OPTIMIZE TABLE t FULL");
    assert_eq!(deleted(), "0");
    db.run("DELETE FROM t WHERE k < 3");
    db.run("OPTIMIZE TABLE t");
    assert_eq!(deleted(), "0");
    assert_eq!(
        db.rows("SELECT count(*), min(k), sum(id) FROM t"),
        [format!("60000|4|{}", (0..100_000i64).filter(|id| id % 10 > 3).sum::<i64>())]
    );
    // Statistics are exact again.
    assert!(!db.run("EXPLAIN SELECT min(k), count(*) FROM t").text().contains("StoreScan"));
}

#[test]
fn segments_without_rows_are_dropped_without_reading_them() {
    let db = Db::new();
    thousands(&db, 3);
    db.run("DELETE FROM t WHERE i < 2000");
    db.run("OPTIMIZE TABLE t");
    assert_eq!(segment_count(&db, "t"), 1);
    db.run("DELETE FROM t WHERE i >= 0");
    let ran = db.run("OPTIMIZE TABLE t");
    assert!(ran.text().starts_with("1|0|"), "{}", ran.text());
    assert_eq!(db.rows("SELECT count(*), max(i) FROM t"), ["0|NULL"]);
    db.run(&insert("t", 7));
    assert_eq!(db.reopened().rows("SELECT count(*), max(i) FROM t"), ["1000|7999"]);
}

#[test]
fn segments_from_before_the_table_was_altered_get_its_columns() {
    let db = Db::new();
    db.run("CREATE TABLE t (a INT, b VARCHAR, c DECIMAL(5,2)) ORDER BY (a)");
    in_segments(&db, ["INSERT INTO t VALUES (3, 'three', 3.25), (1, 'one', NULL)".to_string()]);
    db.script(
        "ALTER TABLE t ADD COLUMN d INT DEFAULT 7; ALTER TABLE t ALTER COLUMN a TYPE BIGINT; ALTER TABLE t DROP COLUMN b; \
               ALTER TABLE t ALTER COLUMN c TYPE DECIMAL(30,4); ALTER TABLE t RENAME COLUMN c TO e",
    );
    in_segments(&db, ["INSERT INTO t VALUES (9223372036854775807, 1.0001, 8)".to_string()]);
    let rows = ["1|NULL|7", "3|3.2500|7", "9223372036854775807|1.0001|8"];
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), rows);
    db.run("OPTIMIZE TABLE t");
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), rows);
    assert_eq!(db.value("SELECT count(DISTINCT schema_version) FROM system.segments"), "1");
    assert!(db.run("OPTIMIZE TABLE t FULL").text().starts_with("1|1|"));
    assert_eq!(states(&db), ["done"]);
    db.run("ALTER TABLE t ADD CHECK (a > 0)");
    db.run("OPTIMIZE TABLE t FULL");
    assert_eq!(states(&db), ["done"], "a constraint leaves rows as they are");
}

#[test]
fn older_versions_are_what_they_were() {
    let db = Db::new();
    thousands(&db, 3);
    db.run("DELETE FROM t WHERE i % 2 = 0");
    let deleted = version(&db);
    db.run("CREATE SNAPSHOT odd");
    db.run(&insert("t", 3));
    db.run("OPTIMIZE TABLE t FULL");
    db.run("DELETE FROM t WHERE i < 3000");
    db.run("OPTIMIZE TABLE t FULL");
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t"), ["1000|3499500"]);
    assert_eq!(db.rows(&format!("SELECT count(*), sum(i) FROM t FOR VERSION AS OF {deleted}")), ["1500|2250000"]);
    db.run("ALTER SYSTEM SET retention = '0'");
    assert_eq!(db.rows("SELECT count(*), sum(i) FROM t FOR VERSION AS OF 'odd'"), ["1500|2250000"]);
    db.run("RESTORE TABLE t TO SNAPSHOT odd");
    db.run("OPTIMIZE TABLE t");
    assert_eq!(db.reopened().rows("SELECT count(*), sum(i) FROM t"), ["1500|2250000"]);
}

#[test]
fn a_table_is_sorted_within_the_memory_there_is() {
    let db = Db::with(small_memory(48));
    db.load("t", &[], &numbers(0, 600_000));
    db.run("ALTER TABLE t SET ORDER BY (r)");
    db.run("DELETE FROM t WHERE k = 7");
    db.run("OPTIMIZE TABLE t");
    assert!(!db.run("EXPLAIN SELECT r FROM t ORDER BY r").text().contains("SortExec"));
    assert_eq!(db.value("SELECT count(*) FROM (SELECT r, lag(r) OVER (ORDER BY r) AS before FROM t) WHERE before > r"), "0");
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT id), sum(length(s)) FROM t"), ["540000|540000|21060000"]);
    assert!(db.spill_files().is_empty(), "{:?}", db.spill_files());
}

#[test]
fn runs_that_overlap_are_merged_within_the_memory_there_is() {
    let db = Db::with(small_memory(48));
    db.load("base", &[], &numbers(0, 300_000));
    db.run("CREATE TABLE t (r BIGINT, s VARCHAR) ORDER BY (s, r)");
    for round in 0..20 {
        db.run(&format!("INSERT INTO t SELECT r, s FROM base WHERE k = {} AND r % 2 = {}", round % 10, round / 10));
    }
    assert_eq!(segment_count(&db, "t"), 20);
    db.run("OPTIMIZE TABLE t");
    assert_eq!(segment_count(&db, "t"), 1);
    assert!(!db.run("EXPLAIN SELECT r FROM t ORDER BY s, r").text().contains("SortExec"));
    assert_eq!(db.value("SELECT count(*) FROM (SELECT s, lag(s) OVER (ORDER BY s, r) AS before FROM t) WHERE before > s"), "0");
    let all = |table: &str| db.rows(&format!("SELECT count(*), count(DISTINCT r), sum(r), sum(length(s)) FROM {table}"));
    assert_eq!(all("t"), all("base"));
}

#[test]
fn places_of_rows_that_do_not_fit_in_memory_are_an_error_and_change_nothing() {
    let db = Db::with(small_memory(2));
    db.load("t", &[], &numbers(0, 800_000));
    db.run("DELETE FROM t WHERE id < 400000");
    let before = db.segment_files();
    let error = db.error("OPTIMIZE TABLE t");
    assert!(matches!(error, engine::EngineError::Memory { .. }), "{error}");
    assert_eq!(db.segment_files(), before);
    assert_eq!(db.value("SELECT count(*) FROM t"), "400000");
    assert!(error.hint().is_some_and(|hint| hint.contains("--memory-limit")), "{error}");
}

#[test]
fn none_of_these_statements_is_part_of_a_transaction() {
    let db = Db::new();
    thousands(&db, 1);
    for sql in ["OPTIMIZE TABLE t", "CHECKPOINT", "FLUSH"] {
        db.run("BEGIN");
        let error = db.error(sql);
        assert!(error.to_string().contains("no part of a transaction"), "{sql}: {error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("end the transaction")), "{sql}");
        db.run("ROLLBACK");
        db.run(sql);
    }
}

#[test]
fn what_cannot_be_optimized_is_an_error_that_says_so() {
    let db = Db::new();
    thousands(&db, 1);
    db.run("CREATE VIEW v AS SELECT i FROM t");
    for (sql, text) in [
        ("OPTIMIZE TABLE v", "the view \"v\""),
        ("OPTIMIZE TABLE nothing", "\"nothing\" does not exist"),
        ("OPTIMIZE TABLE system.tables", "schema system"),
        ("OPTIMIZE t", "expected: TABLE"),
        ("OPTIMIZE TABLE t FINAL", "expected: the end of the statement"),
        ("CHECKPOINT t", "expected: the end of the statement"),
        ("FLUSH TABLES", "expected: the end of the statement"),
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains(text), "{sql}: {error}");
    }
    let db = db.reopened_with(engine::EngineOptions { read_only: true, ..options() });
    for sql in ["OPTIMIZE TABLE t", "CHECKPOINT", "FLUSH"] {
        assert!(db.error(sql).to_string().contains("read-only"), "{sql}");
    }
}

#[test]
fn a_checkpoint_makes_segments_of_all_logs() {
    let db = Db::new();
    db.script("CREATE TABLE a (i INT); CREATE TABLE b (i INT) WITH (durability = 'async')");
    db.script("INSERT INTO a VALUES (1); INSERT INTO b VALUES (1), (2); INSERT INTO b VALUES (3)");
    let kinds = || db.rows("SELECT table_name, kind, row_count FROM system.segments ORDER BY 1");
    assert_eq!(kinds(), ["a|log|1", "b|log|3"]);
    db.run("FLUSH");
    assert_eq!(kinds(), ["a|log|1", "b|log|3"]);
    assert_eq!(db.run("CHECKPOINT").kind, StatementKind::Ddl);
    assert_eq!(kinds(), ["a|segment|1", "b|segment|3"]);
    assert_eq!(db.rows("SELECT sum(i) FROM b"), ["6"]);
}

#[test]
fn a_table_with_a_unique_key_keeps_it() {
    let db = Db::new();
    db.run("CREATE TABLE t (k INT PRIMARY KEY, v INT)");
    in_segments(
        &db,
        (0..4).map(|at| format!("INSERT INTO t SELECT value, 0 FROM generate_series({}, {}) AS g(value)", at * 10, at * 10 + 9)),
    );
    db.run("UPDATE t SET v = 1 WHERE k % 2 = 1");
    db.run("OPTIMIZE TABLE t FULL");
    db.error("INSERT INTO t VALUES (17, 2)");
    db.run("INSERT INTO t VALUES (17, 2), (40, 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v");
    db.run("OPTIMIZE TABLE t");
    assert_eq!(db.rows("SELECT count(*), sum(v), max(k) FROM t"), ["41|23|40"]);
}
