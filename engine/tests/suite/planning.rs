//! Statements that take long to plan: they end in time, and others do not wait for them.

use std::pin::pin;
use std::time::Duration;

use engine::{EngineError, Session};
use futures::future::{Either, select};

use super::helpers::{Db, wait};

/// Planning this takes a second or more.
fn long() -> String {
    let columns: Vec<String> = (0..12_000).map(|column| format!("a AS x{column}")).collect();
    format!("SELECT {} FROM t", columns.join(", "))
}

fn db() -> Db {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 1000) AS g (value)");
    db
}

async fn count(session: &Session) -> usize {
    let (batches, _) = session.execute("SELECT a FROM t WHERE a > 0").await.unwrap().collect().await.unwrap();
    batches.iter().map(|batch| batch.num_rows()).sum()
}

#[test]
fn a_statement_that_is_being_planned_ends_at_its_limit() {
    let db = db();
    db.run("SET quiver.statement_timeout_ms = 200");
    assert!(matches!(db.error(&long()), EngineError::TimedOut { limit_ms: 200 }));
    let described = wait(db.session.describe(&long()));
    assert!(matches!(described, Err(EngineError::TimedOut { limit_ms: 200 })));
    assert_eq!(db.value("SELECT count(*) FROM t"), "1000");
}

#[test]
fn others_are_answered_on_the_only_thread_while_a_statement_is_planned() {
    let (db, sql) = (db(), long());
    let other = db.engine.session().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let planned = pin!(db.session.execute(&sql));
        match select(planned, pin!(count(&other))).await {
            Either::Right((rows, _)) => assert_eq!(rows, 1_000),
            Either::Left(_) => panic!("the long statement was planned before the other one was answered"),
        }
    });
}

#[test]
fn statements_that_nobody_waits_for_any_more_leave_their_places() {
    let (db, sql) = (db(), long());
    for _ in 0..6 {
        let is_timeout = wait(async { tokio::time::timeout(Duration::from_millis(50), db.session.execute(&sql)).await.is_err() });
        assert!(is_timeout);
    }
    // Long enough to take a place too.
    assert_eq!(db.value(&format!("SELECT count(*) FROM t /* {} */", "x".repeat(100_000))), "1000");
}

#[test]
fn what_is_planned_aside_gives_what_it_gives_in_place() {
    let db = db();
    let padding = format!("/* {} */", "x".repeat(20_000));
    db.run(&format!("CREATE TABLE u AS SELECT a, a * 2 AS b FROM t {padding}"));
    db.run(&format!("UPDATE u SET b = 0 WHERE a <= (SELECT 10) {padding}"));
    db.run(&format!("INSERT INTO u (a) SELECT a + 1000 FROM u WHERE a > 990 {padding}"));
    db.run(&format!("DELETE FROM u WHERE a = 1 {padding}"));
    db.run(&format!("CREATE VIEW v AS SELECT a, b FROM u {padding}"));
    for sql in ["SELECT count(*), sum(a), sum(b) FROM v", "SELECT a, a, b + 1 FROM v ORDER BY 1 LIMIT 3", "EXPLAIN SELECT a FROM v"] {
        assert_eq!(db.rows(&format!("{sql} {padding}")), db.rows(sql), "{sql}");
    }
    for sql in ["SELECT nothing FROM u", "SELECT a FROM nothing", "SELECT FROM WHERE", "SELECT a + 'x' FROM u"] {
        let (aside, in_place) = (db.error(&format!("{sql} {padding}")), db.error(sql));
        assert_eq!(
            (aside.to_string(), aside.position(), aside.hint()),
            (in_place.to_string(), in_place.position(), in_place.hint()),
            "{sql}"
        );
    }
}

#[test]
fn a_list_of_very_many_columns_is_refused_in_one_sentence() {
    let db = db();
    let error = db.error(&format!("SELECT {} FROM t", vec!["a"; 60_000].join(",")));
    assert_eq!(error.to_string(), "a SELECT has 60000 columns, more than 16384");
    assert!(error.hint().is_some_and(|hint| hint.contains("*")), "{error:?}");
    let error = db.error(&format!("COPY (SELECT {} FROM t) TO '{}'", vec!["a"; 60_000].join(","), db.file("x.csv")));
    assert_eq!(error.to_string(), "a SELECT has 60000 columns, more than 16384");
}

#[test]
fn thousands_of_columns_of_one_name_are_answered() {
    let db = db();
    let ran = db.run(&format!("SELECT {} FROM t LIMIT 1", vec!["a"; 3_000].join(",")));
    let schema = ran.batches[0].schema();
    assert_eq!((schema.fields().len(), schema.field(0).name().as_str(), schema.field(2_999).name().as_str()), (3_000, "a", "a_2999"));
}
