//! So many statements at once, and those that wait for their turn.

use std::time::Duration;

use engine::ErrorKind;
use futures::StreamExt;

use super::{ENDLESS, SILENT, ended, in_state, listed, session, spawned, with};
use crate::helpers::{Db, Random, soon, wait};

fn one_at_once() -> Db {
    with(|options| options.queries_max = Some(1))
}

/// A statement that is running, and those with these numbers behind it.
fn sql(number: u64) -> String {
    format!("SELECT {number} + count(*) FROM generate_series(1, 10) AS t (value)")
}

#[test]
fn one_more_than_may_run_waits_and_its_place_in_the_queue_is_shown() {
    let db = one_at_once();
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let first = spawned(&session(&db.engine), &sql(1));
    in_state(&db, &sql(1), "queued");
    let second = spawned(&session(&db.engine), &sql(2));
    in_state(&db, &sql(2), "queued");
    let queue = db.rows("SELECT queue_position, statement FROM system.queries WHERE state = 'queued' ORDER BY 1");
    assert_eq!(queue, [format!("1|{}", sql(1)), format!("2|{}", sql(2))]);
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
    assert_eq!(ended(first).unwrap().rows(), ["11"]);
    assert_eq!(ended(second).unwrap().rows(), ["12"]);
    assert_eq!(listed(&db), 0);
}

#[test]
fn what_is_about_the_system_or_the_session_does_not_wait() {
    let db = one_at_once();
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    db.script(
        "SET batch_size = 1000; SHOW batch_size; SHOW TABLES; BEGIN; CREATE TABLE t (a BIGINT); COMMIT; INSERT INTO t VALUES (1), (2);
         SELECT count(*) FROM system.tables; SELECT * FROM information_schema.tables; DESCRIBE t; DROP TABLE t",
    );
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
}

#[test]
fn a_statement_that_waits_is_killed() {
    let db = one_at_once();
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let waiting = spawned(&session(&db.engine), &sql(1));
    db.run(&format!("KILL {}", in_state(&db, &sql(1), "queued")));
    assert_eq!(ended(waiting).unwrap_err().to_string(), "the statement was ended by KILL");
    let behind = spawned(&session(&db.engine), &sql(2));
    in_state(&db, &sql(2), "queued");
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
    assert_eq!(ended(behind).unwrap().rows(), ["12"]);
}

#[test]
fn a_statement_that_waits_and_is_dropped_keeps_nobody_waiting() {
    let db = one_at_once();
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let dropped = spawned(&session(&db.engine), &sql(1));
    in_state(&db, &sql(1), "queued");
    let behind = spawned(&session(&db.engine), &sql(2));
    in_state(&db, &sql(2), "queued");
    dropped.abort();
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
    assert_eq!(ended(behind).unwrap().rows(), ["12"]);
}

#[test]
fn who_waits_for_too_long_is_told_so() {
    let db = with(|options| (options.queries_max, options.queue_timeout_ms) = (Some(1), Some(200)));
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let error = ended(spawned(&session(&db.engine), &sql(1))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(error.to_string().contains("waited 200 ms for its turn"), "{error}");
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
}

#[test]
fn waiting_counts_for_the_limit_of_time() {
    let db = one_at_once();
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let waits = session(&db.engine);
    wait(waits.execute("SET quiver.statement_timeout_ms = 200")).unwrap();
    assert_eq!(ended(spawned(&waits, &sql(1))).unwrap_err().kind(), ErrorKind::TimedOut);
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
}

#[test]
fn a_session_that_holds_a_result_open_does_not_wait_for_itself() {
    let db = one_at_once();
    let session = session(&db.engine);
    let mut output = wait(session.execute(ENDLESS)).unwrap();
    wait(output.next()).unwrap().unwrap();
    assert_eq!(ended(spawned(&session, &sql(1))).unwrap().rows(), ["11"]);
    // And it is read on as if nothing had been.
    assert!(wait(output.next()).unwrap().unwrap().num_rows() > 0);
    drop(output);
    assert_eq!(listed(&db), 0);
}

#[test]
fn results_that_were_not_begun_to_be_read_hold_no_place() {
    let db = one_at_once();
    let session = session(&db.engine);
    let outputs: Vec<_> = (0..20).map(|_| wait(session.execute(ENDLESS)).unwrap()).collect();
    assert_eq!(db.value(&sql(1)), "11");
    drop(outputs);
}

#[test]
fn writes_wait_for_their_turn_too() {
    let db = one_at_once();
    db.run("CREATE TABLE t (a BIGINT)");
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let write = "INSERT INTO t SELECT value FROM generate_series(1, 10) AS s (value)";
    let waiting = spawned(&session(&db.engine), write);
    in_state(&db, write, "queued");
    assert_eq!(db.rows("SELECT table_name, row_count FROM system.tables"), ["t|0"]);
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
    ended(waiting).unwrap();
    assert_eq!(db.value("SELECT count(*) FROM t"), "10");
}

#[test]
fn a_copy_that_waits_and_is_dropped_keeps_nobody_waiting() {
    let db = one_at_once();
    let running = spawned(&session(&db.engine), SILENT);
    let id = in_state(&db, SILENT, "running");
    let copy = format!("COPY ({}) TO '{}'", sql(1), db.file("out.csv"));
    let dropped = spawned(&session(&db.engine), &copy);
    in_state(&db, &copy[..20], "queued");
    let behind = spawned(&session(&db.engine), &sql(2));
    in_state(&db, &sql(2), "queued");
    dropped.abort();
    assert!(soon(|| listed(&db) == 2));
    db.run(&format!("KILL {id}"));
    assert!(ended(running).is_err());
    assert_eq!(ended(behind).unwrap().rows(), ["12"]);
    assert!(!std::path::Path::new(&db.file("out.csv")).exists());
}

#[test]
fn a_copy_whose_answer_nobody_takes_holds_no_place() {
    let db = one_at_once();
    let session = session(&db.engine);
    let path = db.file("out.csv");
    let mut output = wait(session.execute(&format!("COPY ({}) TO '{path}'", sql(1)))).unwrap();
    // It begins when it is asked for the first time, and needs nobody from then on.
    wait(async { assert!(futures::poll!(output.next()).is_pending()) });
    assert!(soon(|| std::fs::read_to_string(&path).is_ok_and(|text| text.contains("11"))));
    assert_eq!(db.value(&sql(2)), "12");
    assert_eq!(wait(output.next()).unwrap().unwrap().num_rows(), 1);
}

/// Whenever a statement is dropped, also while a task of it is just asking for a place, what it had is there for others.
#[test]
fn statements_that_are_dropped_at_any_moment_leave_all_places() {
    let db = with(|options| options.queries_max = Some(2));
    let mut random = Random(7);
    for number in 0..300 {
        let query = sql(number);
        let text = match number % 3 {
            0 => query,
            1 => format!("COPY ({query}) TO '{}'", db.file(&format!("{number}.csv"))),
            _ => format!("CREATE TABLE t{number} AS {}", query.replace("SELECT", "SELECT 1 AS a, ")),
        };
        let task = spawned(&session(&db.engine), &text);
        std::thread::sleep(Duration::from_micros(random.below(3_000) as u64));
        task.abort();
    }
    assert!(soon(|| listed(&db) == 0), "{:?}", db.rows("SELECT state, statement FROM system.queries"));
    let tasks = [1, 2].map(|number| spawned(&session(&db.engine), &sql(number)));
    assert_eq!(tasks.map(|task| ended(task).unwrap().rows()), [["11"], ["12"]]);
    // Both places, at the same time.
    let tasks = [SILENT, SILENT].map(|silent| spawned(&session(&db.engine), silent));
    let running = "SELECT query_id FROM system.queries WHERE statement LIKE 'SELECT count(*) FROM generate_series%' AND state = 'running'";
    assert!(soon(|| db.rows(running).len() == 2), "{:?}", db.rows("SELECT state, statement FROM system.queries"));
    for id in db.rows(running) {
        db.run(&format!("KILL {id}"));
    }
    tasks.into_iter().for_each(|task| assert!(ended(task).is_err()));
}

/// Many statements of many sessions on two places: all of them come to their end.
#[test]
fn all_that_wait_have_their_turn() {
    let db = with(|options| options.queries_max = Some(2));
    let tasks: Vec<_> = (0..60).map(|number| (number, spawned(&session(&db.engine), &sql(number)))).collect();
    for (number, task) in tasks {
        assert_eq!(ended(task).unwrap().rows(), [(number + 10).to_string()]);
    }
    assert_eq!(listed(&db), 0);
}
