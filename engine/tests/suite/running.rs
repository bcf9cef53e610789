//! Statements that run are seen, ended by KILL or by their limit of time, and wait for their turn.

mod killed;
mod limits;
mod queued;

use std::sync::Arc;

use engine::{Engine, EngineError, EngineOptions, Session};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::helpers::{Db, Ran, options, run, soon, wait};

/// Gives no row for hours.
pub const SILENT: &str = "SELECT count(*) FROM generate_series(1, 1000000000000) AS t (value) WHERE value < 0";
pub const ENDLESS: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";

/// A statement on a task of its own.
pub fn spawned(session: &Arc<Session>, sql: &str) -> JoinHandle<Result<Ran, EngineError>> {
    let (session, sql) = (Arc::clone(session), sql.to_string());
    wait(async move { Handle::current().spawn(async move { run(&session, &sql).await }) })
}

pub fn ended<T>(task: JoinHandle<T>) -> T {
    wait(task).unwrap()
}

pub fn session(engine: &Engine) -> Arc<Session> {
    Arc::new(engine.session().unwrap())
}

/// The number of the one statement whose text begins so, once it is in `state`.
pub fn in_state(db: &Db, text: &str, state: &str) -> u64 {
    let sql = format!("SELECT query_id FROM system.queries WHERE statement LIKE '{}%' AND state = '{state}'", text.replace('\'', "''"));
    assert!(
        soon(|| db.rows(&sql).len() == 1),
        "{text} is not {state}: {:?}",
        db.rows("SELECT query_id, state, statement FROM system.queries")
    );
    db.value(&sql).parse().unwrap()
}

/// Statements on the list but the one that looks.
pub fn listed(db: &Db) -> usize {
    db.rows("SELECT query_id FROM system.queries").len() - 1
}

pub fn with(change: impl FnOnce(&mut EngineOptions)) -> Db {
    let mut options = options();
    change(&mut options);
    Db::with(options)
}

#[test]
fn a_statement_is_listed_from_its_start_to_the_end_of_its_result() {
    let db = Db::new();
    assert_eq!(
        db.rows("SELECT kind, state, rows_returned, statement FROM system.queries"),
        ["NULL|planning|0|SELECT kind, state, rows_returned, statement FROM system.queries"]
    );
    let session = session(&db.engine);
    let mut output = wait(session.execute("SELECT value FROM generate_series(1, 50000) AS t (value)")).unwrap();
    let shown = || db.rows("SELECT kind, state, queue_position, rows_returned FROM system.queries WHERE statement LIKE 'SELECT value%'");
    assert_eq!(shown(), ["query|unread|NULL|0"]);
    let first = wait(futures::StreamExt::next(&mut output)).unwrap().unwrap();
    assert_eq!(shown(), [format!("query|unread|NULL|{}", first.num_rows())]);
    wait(output.collect()).unwrap();
    assert_eq!(listed(&db), 0);
}

#[test]
fn a_statement_that_is_dropped_or_fails_is_listed_no_more() {
    let db = Db::new();
    let session = session(&db.engine);
    let output = wait(session.execute(ENDLESS)).unwrap();
    assert_eq!(listed(&db), 1);
    drop(output);
    assert_eq!(listed(&db), 0);
    let _ = db.error("SELECT nothing");
    assert_eq!(listed(&db), 0);
    db.run("CREATE TABLE t (a BIGINT)");
    db.run("INSERT INTO t VALUES (1)");
    assert_eq!(listed(&db), 0);
}

#[test]
fn sessions_and_statements_have_numbers_of_their_own() {
    let db = Db::new();
    let one = session(&db.engine);
    let other = session(&db.engine);
    let outputs = [wait(one.execute(ENDLESS)).unwrap(), wait(one.execute(ENDLESS)).unwrap(), wait(other.execute(ENDLESS)).unwrap()];
    let rows = db.rows("SELECT count(DISTINCT query_id), count(DISTINCT session_id) FROM system.queries WHERE statement LIKE '%1000000000000%' AND statement NOT LIKE '%system%'");
    assert_eq!(rows, ["3|2"]);
    drop(outputs);
}

#[test]
fn what_a_running_statement_touches_and_holds_is_shown() {
    let db = Db::new();
    db.load("t", &[], &super::helpers::numbers(0, 100_000));
    let session = session(&db.engine);
    let task = spawned(&session, "SELECT sum(a.r * b.r % 7), count(DISTINCT a.s || b.s) FROM t a JOIN t b ON a.k = b.k");
    let id = in_state(&db, "SELECT sum(a.r", "running");
    let grown = || {
        db.rows(&format!("SELECT query_id FROM system.queries WHERE query_id = {id} AND bytes_touched > 0 AND memory_bytes > 0")).len() == 1
    };
    assert!(soon(grown));
    db.run(&format!("KILL {id}"));
    assert!(ended(task).is_err());
}

#[test]
fn how_far_a_statement_is_is_shown_while_it_runs() {
    let db = Db::new();
    db.load("t", &[], &super::helpers::numbers(0, 100_000));
    let (session, other) = (session(&db.engine), session(&db.engine));
    let mut output = wait(session.execute("SELECT s FROM t")).unwrap();
    let shown = |columns: &str| db.rows(&format!("SELECT {columns} FROM system.queries WHERE statement = 'SELECT s FROM t'"));
    assert_eq!(shown("rows_scanned, rows_total"), ["0|NULL"]);
    let first = wait(futures::StreamExt::next(&mut output)).unwrap().unwrap();
    assert_eq!(shown("rows_scanned > 0, rows_scanned <= rows_total, rows_total <= 100000"), ["true|true|true"]);
    // The session tells the same of its own.
    let progress = session.progress().unwrap();
    assert!(progress.rows_scanned > 0 && progress.rows_scanned <= progress.rows_total, "{progress:?}");
    assert!(progress.bytes_touched > 0 && progress.rows_returned == first.num_rows() as u64, "{progress:?}");
    assert_eq!(other.progress(), None);
    wait(output.collect()).unwrap();
    assert_eq!(session.progress(), None);
}

#[test]
fn a_session_tells_of_the_statement_that_it_began_last() {
    let db = Db::new();
    db.load("t", &[], &super::helpers::numbers(0, 1_000));
    let session = session(&db.engine);
    let output = wait(session.execute(ENDLESS)).unwrap();
    let mut last = wait(session.execute("SELECT s FROM t")).unwrap();
    wait(futures::StreamExt::next(&mut last)).unwrap().unwrap();
    assert_eq!(session.progress().unwrap().rows_scanned, 1_000);
    drop(last);
    assert_eq!(session.progress().unwrap().rows_scanned, 0);
    drop(output);
}

#[test]
fn a_password_is_not_shown() {
    let db = Db::new();
    let session = session(&db.engine);
    let output = wait(session.execute("CREATE USER ann PASSWORD 'a secret of 4711' ADMIN")).unwrap();
    let shown = db.value("SELECT statement FROM system.queries WHERE statement LIKE 'CREATE USER%'");
    assert!(shown.contains("***") && !shown.contains("4711"), "{shown}");
    drop(output);
}
