//! Statements of one session that come at the same time, and those that end after others have begun.

use futures::StreamExt;

use super::helpers::{Db, run, soon, wait};
use super::running::{ended, in_state, listed, session, spawned};

const ENDLESS_WRITE: &str = "CREATE TABLE made AS SELECT value FROM generate_series(1, 1000000000000) AS t (value)";

#[test]
fn a_statement_begins_when_the_one_before_it_in_its_session_has_begun() {
    let db = Db::new();
    let session = session(&db.engine);
    let first = spawned(&session, ENDLESS_WRITE);
    assert!(soon(|| listed(&db) == 1));
    let second = spawned(&session, "SELECT 7 AS second");
    let third = spawned(&session, "INSERT INTO made VALUES (1)");
    assert!(soon(|| listed(&db) == 3));
    // What there is can be asked meanwhile, and takes nothing from the statement that is being run.
    assert!(session.tables().unwrap().is_empty() && session.table("main", "made").unwrap().is_none());
    assert_eq!(session.schema_names().unwrap(), ["main"]);
    assert!(!second.is_finished() && !third.is_finished());
    // Each is ended by its own number.
    db.run(&format!("KILL {}", in_state(&db, "INSERT INTO made", "planning")));
    assert_eq!(ended(third).unwrap_err().to_string(), "the statement was ended by KILL");
    assert!(!first.is_finished() && !second.is_finished());
    db.run(&format!("KILL {}", in_state(&db, "CREATE TABLE made", "running")));
    assert_eq!(ended(first).unwrap_err().to_string(), "the statement was ended by KILL");
    assert_eq!(ended(second).unwrap().rows(), ["7"]);
}

#[test]
fn statements_of_one_session_at_the_same_time_all_have_their_effect() {
    let db = Db::new();
    db.run("CREATE TABLE t (a BIGINT)");
    let session = session(&db.engine);
    let many: Vec<_> = (0..20)
        .map(|number| {
            let sql = match number % 4 {
                0 => format!("INSERT INTO t VALUES ({number})"),
                1 => format!("INSERT INTO t SELECT {number}"),
                2 => "SELECT count(*) FROM t".to_string(),
                _ => format!("CREATE TABLE t{number} AS SELECT * FROM t"),
            };
            spawned(&session, &sql)
        })
        .collect();
    many.into_iter().for_each(|statement| drop(ended(statement).unwrap()));
    assert_eq!(db.value("SELECT count(*) FROM t"), "10");
    assert_eq!(session.tables().unwrap().len(), 6);
}

/// A result of the session of which one batch was read.
fn begun(db: &Db, sql: &str) -> engine::QueryOutput {
    wait(async {
        let mut output = db.session.execute(sql).await.unwrap();
        output.next().await.unwrap().unwrap();
        output
    })
}

#[test]
fn a_read_that_dies_dooms_no_transaction_that_has_begun_since() {
    const READ: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
    let db = Db::new();
    db.run("CREATE TABLE t (a BIGINT)");
    let mut read = begun(&db, READ);
    db.script("BEGIN; INSERT INTO t VALUES (1)");
    let other = session(&db.engine);
    let id = in_state(&db, READ, "unread");
    wait(run(&other, &format!("KILL {id}"))).unwrap();
    assert!(wait(read.next()).unwrap().is_err());
    db.script("INSERT INTO t VALUES (2); COMMIT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_read_of_the_transaction_that_dies_dooms_it() {
    const READ: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
    let db = Db::new();
    db.script("CREATE TABLE t (a BIGINT); BEGIN; INSERT INTO t VALUES (1)");
    let mut read = begun(&db, READ);
    let other = session(&db.engine);
    let id = wait(run(&other, "SELECT query_id FROM system.queries WHERE state = 'unread'")).unwrap().text();
    wait(run(&other, &format!("KILL {}", id.trim()))).unwrap();
    assert!(wait(read.next()).unwrap().is_err());
    assert!(db.error("COMMIT").to_string().contains("was rolled back"));
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
}
