//! Batches of few rows that wait for no disk: past the planner and the transaction, and like all others all the same.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringViewArray};
use engine::{EngineError, Session};

use crate::helpers::*;

fn db() -> Db {
    let db = Db::new();
    db.script("SET quiver.durability = 'async'; CREATE TABLE t (v bigint, s varchar)");
    db
}

fn row(value: i64) -> RecordBatch {
    let v: ArrayRef = Arc::new(Int64Array::from(vec![value]));
    let s: ArrayRef = Arc::new(StringViewArray::from(vec![Some(format!("the text of row {value}"))]));
    RecordBatch::try_from_iter_with_nullable([("v", v, true), ("s", s, true)]).unwrap()
}

fn put(session: &Session, table: &str, batch: &RecordBatch) -> Result<u64, EngineError> {
    wait(session.append(table, batch))
}

fn put_rows(db: &Db, rows: std::ops::Range<i64>) {
    for value in rows {
        assert_eq!(put(&db.session, "t", &row(value)).unwrap(), 1);
    }
}

#[test]
fn rows_are_seen_at_once_by_every_session() {
    let db = db();
    let other = db.engine.session().unwrap();
    for value in 0..50 {
        put_rows(&db, value..value + 1);
        assert_eq!(db.value("SELECT count(*) FROM t"), (value + 1).to_string());
        let (batches, _) = wait(async { other.execute("SELECT count(*), max(v) FROM t").await.unwrap().collect().await.unwrap() });
        assert_eq!(rows_of(&batches[0]), [format!("{}|{value}", value + 1)]);
    }
}

#[test]
fn each_row_is_a_version_that_can_be_read_again_also_after_reopening() {
    let db = db();
    put_rows(&db, 0..1);
    let first: u64 = db.value("SELECT max(version) FROM system.snapshots").parse().unwrap();
    put_rows(&db, 1..200);
    let assert_versions = |db: &Db| {
        for rows in [1, 2, 77, 199, 200] {
            let version = first + rows - 1;
            assert_eq!(db.value(&format!("SELECT count(*) FROM t FOR VERSION AS OF {version}")), rows.to_string());
            assert_eq!(db.value(&format!("SELECT max(v) FROM t FOR VERSION AS OF {version}")), (rows - 1).to_string());
        }
    };
    assert_versions(&db);
    db.run("FLUSH");
    let db = db.reopened();
    assert_versions(&db);
}

#[test]
fn a_table_that_was_altered_renamed_or_made_anew_gets_rows_by_what_it_is_now() {
    let db = db();
    put_rows(&db, 0..3);
    let other = db.engine.session().unwrap();
    let run = |sql: &str| drop(wait(async { other.execute(sql).await.unwrap().collect().await.unwrap() }));
    run("ALTER TABLE t ADD CONSTRAINT small CHECK (v < 100)");
    assert!(put(&db.session, "t", &row(100)).is_err());
    put_rows(&db, 3..4);
    run("ALTER TABLE t DROP CONSTRAINT small");
    put_rows(&db, 100..101);
    run("ALTER TABLE t ADD COLUMN w int");
    let error = put(&db.session, "t", &row(4)).unwrap_err().to_string();
    assert!(error.contains("the table \"t\" (v, s, w)"), "{error}");
    run("ALTER TABLE t RENAME TO old");
    assert!(put(&db.session, "t", &row(4)).is_err());
    run("CREATE TABLE t (v bigint, s varchar)");
    put_rows(&db, 4..6);
    assert_eq!(db.rows("SELECT v FROM t ORDER BY v"), ["4", "5"]);
    assert_eq!(db.rows("SELECT v FROM old ORDER BY v"), ["0", "1", "2", "3", "100"]);
    run("DROP TABLE t");
    assert!(put(&db.session, "t", &row(4)).is_err());
}

#[test]
fn a_name_that_has_to_be_quoted_is_not_taken_for_another() {
    let db = db();
    db.run("CREATE TABLE \"T\" (v bigint, s varchar)");
    for _ in 0..2 {
        put(&db.session, "\"T\"", &row(1)).unwrap();
        put(&db.session, "T", &row(2)).unwrap();
        put(&db.session, "t", &row(3)).unwrap();
    }
    assert_eq!(db.rows("SELECT v FROM \"T\""), ["1", "1"]);
    assert_eq!(db.rows("SELECT v FROM t"), ["2", "3", "2", "3"]);
}

#[test]
fn rows_of_a_transaction_wait_for_its_commit() {
    let db = db();
    put_rows(&db, 0..2);
    db.run("BEGIN");
    put_rows(&db, 2..4);
    assert_eq!(db.value("SELECT count(*) FROM t"), "4");
    db.run("ROLLBACK");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
    db.run("BEGIN");
    assert!(db.try_run("SELECT no_such_column FROM t").is_err());
    assert!(put(&db.session, "t", &row(9)).is_err(), "nothing more can be done in it");
    db.run("ROLLBACK");
    put_rows(&db, 2..3);
    assert_eq!(db.value("SELECT sum(v) FROM t"), "3");
}

#[test]
fn columns_that_are_stored_otherwise_or_have_rules_get_what_an_insert_gives_them() {
    let db = db();
    db.script(
        "CREATE TABLE n (v bigint NOT NULL, b boolean); CREATE TABLE d (v decimal(10, 2)); CREATE TABLE f (v double);
         CREATE TABLE k (v bigint PRIMARY KEY)",
    );
    let one = |array: ArrayRef| RecordBatch::try_from_iter_with_nullable([("v", array, true)]).unwrap();
    for _ in 0..3 {
        let decimal = Decimal128Array::from(vec![12_345]).with_precision_and_scale(10, 2).unwrap();
        put(&db.session, "d", &one(Arc::new(decimal))).unwrap();
        put(&db.session, "f", &one(Arc::new(Float64Array::from(vec![-f64::NAN])))).unwrap();
        let flag = |value: Option<i64>| {
            let (v, b): (ArrayRef, ArrayRef) = (Arc::new(Int64Array::from(vec![value])), Arc::new(BooleanArray::from(vec![None])));
            RecordBatch::try_from_iter_with_nullable([("v", v, true), ("b", b, true)]).unwrap()
        };
        put(&db.session, "n", &flag(Some(1))).unwrap();
        assert!(matches!(put(&db.session, "n", &flag(None)), Err(EngineError::NotNull { .. })));
    }
    let key = one(Arc::new(Int64Array::from(vec![7])));
    put(&db.session, "k", &key).unwrap();
    assert!(put(&db.session, "k", &key).is_err());
    assert_eq!(db.rows("SELECT sum(v), count(*) FROM d"), ["370.35|3"]);
    assert_eq!(db.rows("SELECT count(*) FROM f WHERE v > 1e300"), ["3"]);
    assert_eq!(db.rows("SELECT sum(v), count(b), count(*) FROM n"), ["3|0|3"]);
}

#[test]
fn rows_put_while_logs_are_sealed_and_rows_deleted_are_there_once() {
    let db = db();
    let rows = 3_000;
    std::thread::scope(|scope| {
        let session = db.engine.session().unwrap();
        let writer = scope.spawn(move || {
            wait(async { session.execute("SET quiver.durability = 'async'").await.unwrap().collect().await.unwrap() });
            (0..rows).for_each(|value| assert_eq!(put(&session, "t", &row(value)).unwrap(), 1));
        });
        while !writer.is_finished() {
            db.run("CHECKPOINT");
            db.run("DELETE FROM t WHERE v % 10 = 3");
            assert_eq!(db.value("SELECT count(*) - count(DISTINCT v) FROM t"), "0");
        }
    });
    db.run("DELETE FROM t WHERE v % 10 = 3");
    assert_eq!(db.value("SELECT count(*) FROM t"), (rows / 10 * 9).to_string());
    let db = db.reopened();
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT v) FROM t"), [format!("{0}|{0}", rows / 10 * 9)]);
}
