//! KILL, wherever the statement is.

use engine::{EngineError, ErrorKind};
use futures::StreamExt;

use super::{ENDLESS, SILENT, ended, in_state, listed, session, spawned};
use crate::helpers::{Db, numbers, soon, wait};

fn is_killed<T>(result: Result<T, EngineError>) -> bool {
    match result {
        Err(error) => {
            assert_eq!(error.to_string(), "the statement was ended by KILL");
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            true
        }
        Ok(_) => false,
    }
}

#[test]
fn a_running_query_is_killed() {
    let db = Db::new();
    let task = spawned(&session(&db.engine), SILENT);
    db.run(&format!("KILL {}", in_state(&db, SILENT, "running")));
    assert!(is_killed(ended(task)));
    assert_eq!(listed(&db), 0);
}

#[test]
fn a_query_that_nobody_reads_is_killed_and_its_reader_is_told() {
    let db = Db::new();
    let session = session(&db.engine);
    let mut output = wait(session.execute(ENDLESS)).unwrap();
    wait(output.next()).unwrap().unwrap();
    db.run(&format!("KILL QUERY {}", in_state(&db, ENDLESS, "unread")));
    assert_eq!(listed(&db), 0);
    assert!(is_killed(wait(output.next()).unwrap()));
    assert!(wait(output.next()).is_none());
}

#[test]
fn a_statement_is_killed_while_it_is_planned() {
    let db = Db::new();
    // Long chains take long to plan; and what is planned would run without end.
    let sql = format!("{SILENT}{}", " UNION ALL SELECT 1".repeat(1_000));
    let task = spawned(&session(&db.engine), &sql);
    db.run(&format!("KILL {}", in_state(&db, SILENT, "planning")));
    assert!(is_killed(ended(task)));
    assert_eq!(listed(&db), 0);
}

#[test]
fn a_write_that_was_stopped_leaves_nothing() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE sink (a BIGINT)");
    let many = "SELECT a.r + b.r AS a FROM t a JOIN t b ON a.k = b.k";
    let files = db.segment_files().len();
    for sql in [
        format!("INSERT INTO sink {many}"),
        format!("CREATE TABLE made AS {many}"),
        format!("DELETE FROM t WHERE id IN ({many})"),
        format!("COPY ({many}) TO '{}'", db.file("out.parquet")),
    ] {
        let task = spawned(&session(&db.engine), &sql);
        db.run(&format!("KILL {}", in_state(&db, &sql[..20], "running")));
        assert!(is_killed(ended(task)), "{sql}");
        assert_eq!(listed(&db), 0, "{sql}");
    }
    assert_eq!(db.rows("SELECT count(*) FROM sink"), ["0"]);
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["100000"]);
    assert!(db.try_run("SELECT * FROM made").is_err());
    assert!(!std::path::Path::new(&db.file("out.parquet")).exists());
    assert!(soon(|| db.segment_files().len() == files), "{:?}", db.segment_files());
}

#[test]
fn a_transaction_whose_statement_was_killed_can_only_be_rolled_back() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE sink (a BIGINT)");
    let session = session(&db.engine);
    let insert = "INSERT INTO sink SELECT a.r FROM t a JOIN t b ON a.k = b.k";
    let delete = "DELETE FROM sink WHERE a IN (SELECT a.r + b.r FROM t a JOIN t b ON a.k = b.k)";
    for sql in [insert, delete] {
        for sql in ["BEGIN", "INSERT INTO sink VALUES (1)"] {
            ended(spawned(&session, sql)).unwrap();
        }
        let task = spawned(&session, sql);
        db.run(&format!("KILL {}", in_state(&db, sql, "running")));
        assert!(is_killed(ended(task)));
        assert!(session.is_transaction_failed());
        assert!(ended(spawned(&session, "COMMIT")).is_err());
        assert_eq!(db.value("SELECT count(*) FROM sink"), "0");
        if session.is_in_transaction() {
            ended(spawned(&session, "ROLLBACK")).unwrap();
        }
    }
}

/// A session that goes on holds no files of a statement that nobody waits for any more.
#[test]
fn a_statement_that_is_dropped_while_it_runs_keeps_no_files() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE sink (a BIGINT)");
    let session = session(&db.engine);
    let sql = "DELETE FROM t WHERE id IN (SELECT a.r + b.r FROM t a JOIN t b ON a.k = b.k)";
    let task = spawned(&session, sql);
    in_state(&db, sql, "running");
    task.abort();
    assert!(soon(|| listed(&db) == 0));
    db.run("DROP TABLE t");
    assert!(soon(|| db.segment_files().is_empty()), "{:?}", db.segment_files());
}

#[test]
fn kill_works_in_a_transaction_that_has_failed() {
    let db = Db::new();
    let task = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    db.run("BEGIN");
    let _ = db.error("SELECT nothing");
    db.run(&format!("KILL {id}"));
    assert!(is_killed(ended(task)));
}

#[test]
fn what_is_not_there_or_is_done_cannot_be_killed() {
    let db = Db::new();
    let unknown = db.error("KILL 123456");
    assert_eq!((unknown.kind(), unknown.to_string().as_str()), (ErrorKind::NotFound, "there is no statement 123456 that could be ended"));
    assert!(unknown.hint().is_some_and(|hint| hint.contains("system.queries")));
    let session = session(&db.engine);
    let output = wait(session.execute("CREATE TABLE t (a BIGINT)")).unwrap();
    let done = db.error(&format!("KILL {}", in_state(&db, "CREATE TABLE t", "finishing")));
    assert_eq!(done.kind(), ErrorKind::NotAllowed);
    wait(output.collect()).unwrap();
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
    assert_eq!(db.error("KILL CONNECTION 1").kind(), ErrorKind::Unsupported);
    assert_eq!(db.error("KILL everything").kind(), ErrorKind::Invalid);
}

#[test]
fn rows_that_are_sent_are_killed_while_they_come() {
    let db = Db::new();
    db.run("CREATE TABLE t (id BIGINT, k BIGINT, r BIGINT, s VARCHAR)");
    let session = session(&db.engine);
    let rows = numbers(0, 10);
    let schema = rows.schema();
    let endless = futures::stream::iter([Ok(rows)]).chain(futures::stream::pending());
    let target = engine::import::IngestTarget {
        schema: None,
        table: "t".into(),
        if_missing: engine::import::IfMissing::Fail,
        if_exists: engine::import::IfExists::Append,
    };
    let task = wait(async { tokio::spawn(async move { session.ingest(target, schema, endless).await }) });
    db.run(&format!("KILL {}", in_state(&db, "INGEST INTO main.t", "running")));
    assert!(is_killed(ended(task)));
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
}
