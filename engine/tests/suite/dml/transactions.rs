//! Sessions side by side: what each sees, and who comes first.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use engine::{Engine, EngineError, EngineOptions};
use pmem_store::StoreError;

use super::super::helpers::{Db, options, run, wait};
use super::{count, in_segments};

fn is_conflict(error: &EngineError) -> bool {
    matches!(error, EngineError::Store(StoreError::Conflict { table }) if table == "t")
}

#[test]
fn a_transaction_sees_its_own_changes_and_nobody_else_does() {
    let db = Db::new();
    in_segments(&db, 100, 2);
    let other = db.engine.session().unwrap();
    let others_rows = |sql: &str| wait(run(&other, sql)).unwrap().rows();
    db.run("BEGIN");
    assert_eq!(count(&db, "UPDATE t SET v = -1 WHERE id < 10"), 10);
    assert_eq!(count(&db, "UPDATE t SET v = v - 1 WHERE v = -1"), 10);
    assert_eq!(count(&db, "DELETE FROM t WHERE v = -2 AND id < 4"), 4);
    assert_eq!(
        count(
            &db,
            "MERGE INTO t USING (VALUES (5), (500)) AS s(id) ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        ),
        2
    );
    assert_eq!(db.rows("SELECT count(*), count(v), min(v) FROM t"), ["96|95|-2"]);
    assert_eq!(others_rows("SELECT count(*), min(v) FROM t"), ["100|0"]);
    db.run("COMMIT");
    assert_eq!(others_rows("SELECT count(*), count(v), min(v) FROM t"), ["96|95|-2"]);
}

#[test]
fn rollback_and_savepoints_take_changes_back() {
    let db = Db::new();
    in_segments(&db, 100, 2);
    let files = db.segment_files();
    db.run("BEGIN");
    count(&db, "UPDATE t SET v = 0 WHERE id < 50");
    db.run("SAVEPOINT half");
    count(&db, "TRUNCATE t");
    db.run("INSERT INTO t VALUES (1, 1, 'x')");
    db.run("ROLLBACK TO SAVEPOINT half");
    assert_eq!(db.rows("SELECT count(*), min(v) FROM t WHERE id < 50"), ["50|0"]);
    db.run("ROLLBACK");
    assert_eq!(db.rows("SELECT count(*), sum(v) FROM t"), ["100|49500"]);
    assert_eq!(db.segment_files(), files);
}

#[test]
fn of_two_transactions_that_change_one_row_the_second_to_commit_is_told() {
    let db = Db::new();
    in_segments(&db, 100, 2);
    let other = db.engine.session().unwrap();
    let at_other = |sql: &str| wait(run(&other, sql));
    for (first, second) in [
        ("UPDATE t SET v = 1 WHERE id = 7", "UPDATE t SET v = 2 WHERE id BETWEEN 5 AND 9"),
        ("DELETE FROM t WHERE id = 8", "UPDATE t SET v = 2 WHERE id = 8"),
        ("UPDATE t SET v = 3 WHERE id = 9", "DELETE FROM t WHERE id = 9"),
        ("MERGE INTO t USING (SELECT 10 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE", "UPDATE t SET v = 4 WHERE id = 10"),
    ] {
        db.run("BEGIN");
        at_other("BEGIN").unwrap();
        assert!(count(&db, second) > 0);
        at_other(first).unwrap();
        at_other("COMMIT").unwrap();
        let error = db.error("COMMIT");
        assert!(is_conflict(&error), "{first}; {second}: {error}");
        // The transaction is over.
        db.run("SELECT 1");
    }
    assert_eq!(db.rows("SELECT count(*), min(v) FROM t WHERE id BETWEEN 5 AND 11"), ["5|1"]);
}

#[test]
fn transactions_that_change_different_rows_both_commit() {
    let db = Db::new();
    in_segments(&db, 100, 1);
    let other = db.engine.session().unwrap();
    db.run("BEGIN");
    count(&db, "UPDATE t SET v = -1 WHERE id < 10");
    wait(run(&other, "UPDATE t SET v = -2 WHERE id >= 10 AND id < 20")).unwrap();
    wait(run(&other, "DELETE FROM t WHERE id = 99")).unwrap();
    count(&db, "DELETE FROM t WHERE id = 98");
    db.run("COMMIT");
    assert_eq!(db.rows("SELECT count(*), sum(CASE WHEN v < 0 THEN v END) FROM t"), ["98|-30"]);
}

#[test]
fn statements_of_their_own_that_meet_run_again_until_each_has_its_turn() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int, n bigint)");
    db.run("INSERT INTO t VALUES (1, 0), (2, 0)");
    let store = db.engine.clone();
    let each = |engine: Engine| async move {
        let session = engine.session().unwrap();
        for _ in 0..8 {
            run(&session, "UPDATE t SET n = n + 1 WHERE id = 1").await.unwrap();
        }
    };
    wait(async {
        let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(each(store.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|32", "2|0"]);
}

#[test]
fn sessions_that_insert_or_change_one_key_at_once_all_do() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY, n bigint)");
    let each = |engine: Engine| async move {
        let session = engine.session().unwrap();
        for id in 0..6 {
            let upsert = format!("INSERT INTO t VALUES ({id}, 1) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n");
            run(&session, &upsert).await.unwrap();
        }
    };
    wait(async {
        let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(each(db.engine.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(db.rows("SELECT count(*), min(n), max(n) FROM t"), ["6|4|4"]);
}

#[test]
fn a_delete_of_all_rows_in_a_transaction_leaves_what_others_add_meanwhile() {
    let db = Db::new();
    in_segments(&db, 100, 2);
    let other = db.engine.session().unwrap();
    db.run("BEGIN");
    assert_eq!(count(&db, "DELETE FROM t"), 100);
    wait(run(&other, "INSERT INTO t VALUES (1000, 1, 'later')")).unwrap();
    db.run("COMMIT");
    assert_eq!(db.rows("SELECT * FROM t"), ["1000|1|later"]);
    db.run("BEGIN");
    assert_eq!(count(&db, "DELETE FROM t"), 1);
    wait(run(&other, "UPDATE t SET v = 2")).unwrap();
    assert!(is_conflict(&db.error("COMMIT")));
    assert_eq!(db.rows("SELECT * FROM t"), ["1000|2|later"]);
}

#[test]
fn a_statement_that_fails_ends_what_can_be_done_in_its_transaction() {
    let db = Db::new();
    in_segments(&db, 100, 1);
    db.run("BEGIN");
    count(&db, "DELETE FROM t WHERE id = 1");
    db.error("UPDATE t SET v = 1 / (id - 50)");
    assert!(db.error("DELETE FROM t WHERE id = 2").to_string().contains("failed"));
    db.run("ROLLBACK");
    assert_eq!(db.value("SELECT count(*) FROM t"), "100");
}

#[test]
fn nothing_is_changed_where_nothing_may_be() {
    let db = Db::new();
    in_segments(&db, 100, 1);
    let statements = [
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM t WHERE id = -1",
        "DELETE FROM t",
        "TRUNCATE t",
        "UPDATE t SET v = 1",
        "MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ];
    for sql in statements {
        db.run("BEGIN READ ONLY");
        assert_eq!(db.error(sql).to_string(), "the transaction is read-only", "{sql}");
        db.run("ROLLBACK");
    }
    let db = db.reopened_with(EngineOptions { read_only: true, ..options() });
    for sql in statements {
        let error = db.error(sql);
        assert!(matches!(error, EngineError::Store(StoreError::ReadOnly(_))), "{sql}: {error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "100");
}

#[test]
fn a_statement_does_not_meet_rows_of_its_own() {
    let db = Db::new();
    in_segments(&db, 30_000, 3);
    assert_eq!(count(&db, "UPDATE t SET id = id + 30000 WHERE id >= 0"), 30_000);
    assert_eq!(
        count(
            &db,
            "MERGE INTO t USING t AS s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id + 1, s.v, 'last')"
        ),
        30_000
    );
    assert_eq!(db.rows("SELECT count(*), min(id), max(id), sum(v) FROM t"), ["30001|30000|60000|4499850000"]);
}

/// Half of what has failed would be in it.
#[test]
fn a_transaction_that_has_failed_takes_no_savepoint_and_goes_back_to_an_earlier_one() {
    let db = Db::new();
    db.script("CREATE TABLE s (a BIGINT PRIMARY KEY, CHECK (a < 100)); INSERT INTO s VALUES (50)");
    let fail = |from: i64| {
        let pair = |one: i64, other: i64| Arc::new(Int64Array::from(vec![one, other])) as ArrayRef;
        let rows = RecordBatch::try_from_iter([("$1", pair(from + 1, 500)), ("$2", pair(from, from + 1))]).unwrap();
        assert!(wait(db.session.execute_rows("UPDATE s SET a = $1 WHERE a = $2", &rows)).is_err());
    };
    let refused = |sql: &str, hint: &str| {
        let error = db.error(sql);
        assert!(error.to_string().starts_with("a statement of this transaction failed"), "{sql}: {error}");
        assert_eq!(error.hint(), Some(hint), "{sql}");
    };
    db.run("BEGIN");
    fail(50);
    for sql in ["SAVEPOINT late", "RELEASE SAVEPOINT late", "SELECT 1"] {
        refused(sql, "end it with ROLLBACK");
    }
    assert!(db.error("COMMIT").to_string().contains("was rolled back, because a statement of it failed"));
    assert_eq!(db.rows("SELECT a FROM s"), ["50"]);
    db.script("BEGIN; UPDATE s SET a = 60; SAVEPOINT early");
    fail(60);
    for sql in ["SAVEPOINT late", "RELEASE SAVEPOINT early"] {
        refused(sql, "end it with ROLLBACK, or go back to a savepoint with ROLLBACK TO");
    }
    db.script("ROLLBACK TO SAVEPOINT early; SAVEPOINT late; RELEASE SAVEPOINT early; COMMIT");
    assert_eq!(db.rows("SELECT a FROM s"), ["60"]);
}
