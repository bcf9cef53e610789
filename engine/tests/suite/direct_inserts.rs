//! INSERT of literal rows past the planner, and batches that a program hands over: what they store and
//! how they fail is what a planned INSERT does.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use engine::{Engine, EngineError, Session};

use super::helpers::{Db, options, wait};

const TYPES: [&str; 20] = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "tinyint unsigned",
    "bigint unsigned",
    "real",
    "double",
    "decimal(5,2)",
    "decimal(38,10)",
    "decimal(3,0)",
    "varchar",
    "date",
    "timestamp",
    "timestamptz",
    "timestamp(0)",
    "time",
    "bytea",
    "interval",
];

const LITERALS: [&str; 46] = [
    "NULL",
    "null",
    "true",
    "FALSE",
    "0",
    "1",
    "-1",
    "+1",
    "127",
    "128",
    "-128",
    "255",
    "256",
    "32768",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "1.5",
    "-1.5",
    "1.005",
    "0.1",
    "123.45",
    "999.999",
    "1000",
    "99999999999999999999",
    "123456789.123456789",
    "1.",
    ".5",
    "00012",
    "1e3",
    "-2.5e-3",
    "1_000",
    "'text'",
    "''",
    "'it''s'",
    "'7'",
    "'1.25'",
    "'2024-02-29'",
    "'2024-02-30'",
    "'2024-02-29 12:34:56.789'",
    "'2024-02-29T12:34:56+02:00'",
    "'true'",
    "'NaN'",
    "DATE '2024-01-01'",
];

/// What a statement leaves in the table, or how it fails.
fn outcome(db: &Db, sql: &str) -> Result<Vec<String>, String> {
    db.run("TRUNCATE t");
    db.try_run(sql).map_err(|error| format!("{error:?}"))?;
    Ok(db.rows("SELECT *, arrow_typeof(v) FROM t"))
}

fn set_direct(db: &Db, on: bool) {
    db.run(&format!("SET quiver.direct_inserts = {on}"));
}

/// Both ways lead to the same.
fn check_same(db: &Db, sql: &str) {
    set_direct(db, false);
    let planned = outcome(db, sql);
    set_direct(db, true);
    assert_eq!(outcome(db, sql), planned, "{sql}");
}

#[test]
fn inserts_past_the_planner_store_what_planned_ones_do() {
    let db = Db::new();
    for data_type in TYPES {
        db.run(&format!("CREATE OR REPLACE TABLE t (v {data_type})"));
        for literal in LITERALS {
            check_same(&db, &format!("INSERT INTO t VALUES ({literal})"));
        }
    }
}

#[test]
fn rows_of_several_kinds_of_literals_are_the_same_as_planned() {
    let db = Db::new();
    for (data_type, rows) in [
        ("double", "(1), (1.5), (NULL), (2.25)"),
        ("decimal(9,3)", "(1), (1.5), (NULL), (-2.125)"),
        ("varchar", "('a'), (NULL), ('a much longer text than fits a view')"),
        ("varchar", "('a'), (1)"),
        ("int", "(1), (2.5)"),
        ("int", "(1), ('2')"),
        ("date", "('2024-01-01'), (NULL), ('1969-12-31')"),
        ("bigint", "(1), (NULL), (9223372036854775808)"),
    ] {
        db.run(&format!("CREATE OR REPLACE TABLE t (v {data_type})"));
        check_same(&db, &format!("INSERT INTO t VALUES {rows}"));
    }
}

#[test]
fn named_columns_defaults_and_wrong_names_are_as_planned() {
    let db = Db::new();
    db.run("CREATE TABLE t (v int NOT NULL, w varchar, x int DEFAULT 7, \"Y z\" bigint)");
    for sql in [
        "INSERT INTO t (v) VALUES (1)",
        "INSERT INTO t (w, v) VALUES ('a', 1), (NULL, 2)",
        "INSERT INTO t (v, x) VALUES (1, 2)",
        "INSERT INTO t (V, \"Y z\", x) VALUES (1, 2, 3)",
        "INSERT INTO t (v, x, \"y z\") VALUES (1, 2, 3)",
        "INSERT INTO t (v, v) VALUES (1, 2)",
        "INSERT INTO t (v) VALUES (1, 2)",
        "INSERT INTO t (v, w) VALUES (1)",
        "INSERT INTO t VALUES (1, 'a', 2)",
        "INSERT INTO t VALUES (1, 'a', 2, 3), (NULL, 'b', 2, 3)",
        "INSERT INTO t (w, x) VALUES ('a', 1)",
        "INSERT INTO main.t VALUES (1, 'a', 2, 3)",
        "INSERT INTO \"t\" VALUES (1, 'a', 2, 3);",
        "INSERT INTO T VALUES (1, 'a', 2, 3)",
        "INSERT INTO \"T\" VALUES (1, 'a', 2, 3)",
        "INSERT INTO nowhere.t VALUES (1, 'a', 2, 3)",
        "INSERT INTO quiver.main.t VALUES (1, 'a', 2, 3)",
        "INSERT INTO system.tables VALUES (1)",
    ] {
        check_same(&db, sql);
    }
}

#[test]
fn rules_of_the_table_hold_and_name_the_row() {
    let db = Db::new();
    db.run("CREATE TABLE t (v int PRIMARY KEY, w int CHECK (w > 0), x int)");
    for sql in ["INSERT INTO t VALUES (1, 0, 0)", "INSERT INTO t VALUES (1, 1, 1), (2, -1, 2)", "INSERT INTO t VALUES (1, 1, 1), (1, 2, 2)"]
    {
        check_same(&db, sql);
    }
    db.run("TRUNCATE t");
    db.run("INSERT INTO t VALUES (1, 1, 1)");
    let error = db.error("INSERT INTO t VALUES (1, 2, 2)").to_string();
    assert!(error.contains("which \"t\" has already"), "{error}");
    db.run("CREATE TABLE only_checked (v int CHECK (v < 10))");
    db.run("INSERT INTO only_checked VALUES (9)");
    assert!(matches!(db.error("INSERT INTO only_checked VALUES (10)"), EngineError::Constraint { .. }));
}

#[test]
fn a_table_that_changes_between_inserts_is_seen_as_it_is() {
    let db = Db::new();
    let other = db.engine.session().unwrap();
    let elsewhere = |sql: &str| drop(wait(async { other.execute(sql).await.unwrap().collect().await.unwrap() }));
    db.run("CREATE TABLE t (v int)");
    db.run("INSERT INTO t VALUES (1)");
    elsewhere("ALTER TABLE t ADD COLUMN w varchar DEFAULT 'new'");
    db.run("INSERT INTO t VALUES (2, 'given')");
    db.run("INSERT INTO t (v) VALUES (3)");
    elsewhere("ALTER TABLE t ADD CONSTRAINT small CHECK (v < 10)");
    db.error("INSERT INTO t VALUES (10, 'x')");
    elsewhere("ALTER TABLE t ALTER COLUMN w SET NOT NULL");
    assert!(matches!(db.error("INSERT INTO t VALUES (4, NULL)"), EngineError::NotNull { .. }));
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|new", "2|given", "3|new"]);
    elsewhere("DROP TABLE t");
    db.error("INSERT INTO t VALUES (5, 'x')");
    elsewhere("CREATE TABLE t (name varchar)");
    db.run("INSERT INTO t VALUES ('again')");
    assert_eq!(db.rows("SELECT * FROM t"), ["again"]);
}

#[test]
fn a_transaction_has_them_and_takes_them_back() {
    let db = Db::new();
    db.run("CREATE TABLE t (v int)");
    db.script("BEGIN; INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN w int; INSERT INTO t VALUES (2, 2)");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|NULL", "2|2"]);
    db.script("SAVEPOINT s; INSERT INTO t VALUES (3, 3); ROLLBACK TO s; COMMIT");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|NULL", "2|2"]);
    db.script("BEGIN; INSERT INTO t VALUES (4, 4)");
    db.error("INSERT INTO t VALUES (5, 'five')");
    let error = db.error("INSERT INTO t VALUES (6, 6)").to_string();
    assert!(error.contains("a statement of this transaction failed"), "{error}");
    db.run("ROLLBACK");
    db.run("BEGIN READ ONLY");
    let error = db.error("INSERT INTO t VALUES (7, 7)").to_string();
    assert!(error.contains("read-only"), "{error}");
    db.run("ROLLBACK");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|NULL", "2|2"]);
}

#[test]
fn very_many_single_rows_of_one_transaction_are_all_there_and_can_be_changed_in_it() {
    let db = Db::new();
    db.run("CREATE TABLE t (v int, s varchar)");
    db.run("BEGIN");
    for row in 0..500 {
        db.run(&format!("INSERT INTO t VALUES ({row}, 'row number {row} of many')"));
        if row % 100 == 50 {
            db.run(&format!("DELETE FROM t WHERE v = {row}"));
            db.run(&format!("UPDATE t SET s = 'changed' WHERE v = {}", row - 1));
        }
    }
    let summary = db.value("SELECT count(*) || ' ' || sum(v) || ' ' || count(*) FILTER (WHERE s = 'changed') FROM t");
    assert_eq!(summary, "495 123500 5");
    db.run("COMMIT");
    assert_eq!(db.value("SELECT count(*) || ' ' || sum(v) || ' ' || count(*) FILTER (WHERE s = 'changed') FROM t"), summary);
    let db = db.reopened();
    assert_eq!(db.value("SELECT count(*) || ' ' || sum(v) || ' ' || count(*) FILTER (WHERE s = 'changed') FROM t"), summary);
}

#[test]
fn durability_is_a_setting_with_three_values() {
    let db = Db::new();
    let shown = || db.value("SELECT value FROM system.settings WHERE name = 'quiver.durability'");
    for (value, is) in [("'async'", "async"), ("SYNC", "sync"), ("table", "table"), ("'async'", "async"), ("DEFAULT", "table")] {
        db.run(&format!("SET quiver.durability = {value}"));
        assert_eq!(shown(), is);
    }
    db.run("SET quiver.durability = 'async'");
    db.run("RESET quiver.durability");
    assert_eq!(shown(), "table");
    let error = db.error("SET quiver.durability = 'sometimes'").to_string();
    assert!(error.contains("there is no durability \"sometimes\""), "{error}");
}

#[test]
fn a_batch_of_a_program_is_added_as_an_insert_would() {
    let db = Db::new();
    db.run("CREATE TABLE t (v bigint NOT NULL, s varchar)");
    let append = |batch: &RecordBatch| wait(append(&db.session, batch));
    let batch = |values: ArrayRef| {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        RecordBatch::try_from_iter_with_nullable([("v", values, true), ("s", texts, true)]).unwrap()
    };
    assert_eq!(append(&batch(Arc::new(Int64Array::from(vec![1, 2])))).unwrap(), 2);
    assert_eq!(append(&batch(Arc::new(Int32Array::from(vec![3, 4])))).unwrap(), 2);
    let error = append(&batch(Arc::new(Int64Array::from(vec![Some(5), None])))).unwrap_err();
    assert!(matches!(error, EngineError::NotNull { .. }), "{error}");
    let renamed = batch(Arc::new(Int64Array::from(vec![6, 7]))).project(&[1, 0]).unwrap();
    let error = append(&renamed).unwrap_err().to_string();
    assert!(error.contains("the batch has the columns (s, v), the table \"t\" (v, s)"), "{error}");
    db.run("BEGIN");
    assert_eq!(append(&batch(Arc::new(Int64Array::from(vec![8, 9])))).unwrap(), 2);
    assert_eq!(db.value("SELECT count(*) FROM t"), "6");
    db.run("ROLLBACK");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|a", "2|NULL", "3|a", "4|NULL"]);
}

async fn append(session: &Session, batch: &RecordBatch) -> Result<u64, EngineError> {
    session.append("t", batch).await
}

#[test]
fn sixteen_sessions_that_insert_at_once_lose_no_row() {
    let db = Db::new();
    db.run("CREATE TABLE t (writer int, v int)");
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let session = db.engine.session().unwrap();
            scope.spawn(move || {
                for row in 0..100 {
                    let sql = format!("INSERT INTO t VALUES ({writer}, {row})");
                    wait(async { session.execute(&sql).await.unwrap().collect().await.unwrap() });
                }
            });
        }
    });
    let by_writer = db.rows("SELECT count(*), sum(v), count(DISTINCT v) FROM t GROUP BY writer");
    assert_eq!(by_writer, vec!["100|4950|100"; 16]);
    let db = db.reopened();
    assert_eq!(db.value("SELECT count(*) FROM t"), "1600");
}

#[test]
fn literals_are_not_planned_and_all_else_is() {
    let db = Db::new();
    db.run("CREATE TABLE t (v int, w varchar)");
    let planning_ms = |sql: &str| db.run(sql).report.planning_ms;
    assert_eq!(planning_ms("INSERT INTO t VALUES (1, 'a'), (2, NULL)"), 0.0);
    assert_eq!(planning_ms("INSERT INTO t (w) VALUES ('b')"), 0.0);
    assert!(planning_ms("INSERT INTO t VALUES (1 + 1, 'a')") > 0.0);
    assert!(planning_ms("INSERT INTO t VALUES ('1', 'a')") > 0.0);
    set_direct(&db, false);
    assert!(planning_ms("INSERT INTO t VALUES (1, 'a'), (2, NULL)") > 0.0);
    assert_eq!(db.value("SELECT count(*) FROM t"), "7");
}

#[test]
fn tables_altered_and_replaced_while_rows_come_in_are_never_written_by_old_rules() {
    let db = Db::new();
    db.run("CREATE TABLE t (v int, w int)");
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let session = db.engine.session().unwrap();
                scope.spawn(move || {
                    for row in 0..150 {
                        // Which columns there are changes all the time: an error is an answer.
                        for sql in [format!("INSERT INTO t (v) VALUES ({row})"), format!("INSERT INTO t VALUES ({row}, 1)")] {
                            let _ = wait(async { session.execute(&sql).await?.collect().await });
                        }
                    }
                })
            })
            .collect();
        // Rows come in between, so that one may be refused: then the next round goes on from there.
        let alter = |sql: &str| db.try_run(sql).is_ok();
        while writers.iter().any(|writer| !writer.is_finished()) {
            alter("ALTER TABLE t ADD COLUMN x int DEFAULT 7");
            alter("ALTER TABLE t DROP COLUMN w");
            alter("DELETE FROM t WHERE v >= 100");
            if alter("ALTER TABLE t ADD CONSTRAINT small CHECK (v < 100)") {
                assert_eq!(db.value("SELECT count(*) FROM t WHERE v >= 100"), "0");
                alter("ALTER TABLE t DROP CONSTRAINT small");
            }
            alter("ALTER TABLE t ADD COLUMN w int");
            alter("ALTER TABLE t DROP COLUMN x");
            assert_eq!(db.value("SELECT count(*) FROM t WHERE v < 0 OR v >= 150 OR w <> 1"), "0");
        }
    });
    let _ = db.try_run("ALTER TABLE t ADD COLUMN w int");
    assert_eq!(db.value("SELECT count(*) FROM t WHERE v < 0 OR v >= 150 OR w <> 1"), "0");
}

#[test]
fn names_and_texts_mean_what_they_mean_when_planned() {
    let db = Db::new();
    db.script("CREATE TABLE \"ä\" (v varchar); CREATE TABLE \"Ä\" (v varchar); CREATE TABLE t (v varchar)");
    db.run("INSERT INTO Ä VALUES ('big')");
    assert_eq!(db.rows("SELECT * FROM \"Ä\""), ["big"]);
    assert_eq!(db.value("SELECT count(*) FROM \"ä\""), "0");
    check_same(&db, "INSERT INTO t VALUES ('a\\nb')");
}

#[test]
fn batches_of_a_table_in_an_order_are_stored_in_it() {
    let db = Db::new();
    db.run("CREATE TABLE t (v bigint, f double) ORDER BY (v DESC)");
    let append = |values: Vec<i64>| {
        let floats: ArrayRef =
            Arc::new(Float64Array::from_iter_values(values.iter().map(|value| if value % 2 == 0 { -f64::NAN } else { 1.0 })));
        let values: ArrayRef = Arc::new(Int64Array::from(values));
        let batch = RecordBatch::try_from_iter_with_nullable([("v", values, true), ("f", floats, true)]).unwrap();
        wait(db.session.append("t", &batch)).unwrap()
    };
    assert_eq!(append(Vec::new()), 0);
    assert_eq!(append((0..20_000).collect()), 20_000);
    assert_eq!(append(vec![20_001, 20_003, 20_002]), 3);
    assert_eq!(append(Vec::new()), 0);
    assert_eq!(db.rows("SELECT v FROM t ORDER BY v DESC LIMIT 3"), ["20003", "20002", "20001"]);
    let whole = db.rows("SELECT v FROM t ORDER BY v DESC");
    let expected: Vec<String> = (0..20_000).chain(20_001..20_004).rev().map(|value: i64| value.to_string()).collect();
    assert_eq!(whole, expected);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE f > 2"), "10001");
}

#[test]
fn what_the_session_says_of_durability_is_what_a_crash_leaves() {
    let db = Db::new();
    db.script("CREATE TABLE t (v int) WITH (durability = 'async'); INSERT INTO t VALUES (0)");
    let durable_rows = || {
        let copy = tempfile::tempdir().unwrap();
        copy_files(&db.store_path(), copy.path());
        let engine = Engine::open(copy.path(), options()).unwrap();
        let session = engine.session().unwrap();
        let (batches, _) = wait(async { session.execute("SELECT v FROM t").await.unwrap().collect().await.unwrap() });
        batches.iter().map(|batch| batch.num_rows()).sum::<usize>()
    };
    db.run("SET quiver.durability = 'sync'");
    for row in 1..5 {
        db.run(&format!("INSERT INTO t VALUES ({row})"));
        assert_eq!(durable_rows(), row + 1);
    }
    // Visible, and not durable for a moment: long enough to be seen once.
    db.run("SET quiver.durability = 'table'");
    let is_seen = (5..60).any(|row| {
        db.run(&format!("INSERT INTO t VALUES ({row})"));
        durable_rows() < row + 1
    });
    assert!(is_seen, "a crash took nothing");
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_files(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn a_check_that_asks_for_the_time_asks_with_every_statement() {
    let db = Db::new();
    db.run("CREATE TABLE t (at timestamp CHECK (at <= now()))");
    for _ in 0..5 {
        let now = db.value("SELECT cast(now() AS timestamp)");
        db.run(&format!("INSERT INTO t VALUES ('{now}')"));
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "5");
}
