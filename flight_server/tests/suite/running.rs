//! Running statements, as clients see them: ended by KILL or their timeout, or waiting in the queue.

use arrow_flight::error::FlightError;
use engine::EngineOptions;
use futures::StreamExt;
use tonic::Code;

use crate::helpers::{Served, eventually, options, query, status, ticket, wait};

const SILENT: &str = "SELECT count(*) FROM generate_series(1, 1000000000000) AS t (value) WHERE value < 0";

fn id_of(served: &Served, text: &str, state: &str) -> String {
    let sql = format!("SELECT query_id FROM system.queries WHERE statement LIKE '{}%' AND state = '{state}'", &text[..20]);
    eventually("the statement is there", || served.rows(&sql).len() == 1);
    served.rows(&sql).remove(0)
}

#[test]
fn a_result_that_is_being_read_is_killed_and_its_reader_is_told() {
    let served = Served::new();
    let info = wait(served.client().execute(SILENT.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    served.update(&format!("KILL {}", id_of(&served, SILENT, "running")));
    let end = wait(messages.next()).unwrap().unwrap_err();
    assert_eq!((end.code(), end.message()), (Code::Cancelled, "the statement was ended by KILL"));
    eventually("no query runs", || served.stat("results_running") == 0);
}

#[test]
fn a_kill_of_nothing_is_not_found() {
    let served = Served::new();
    let refused = status(served.try_update("KILL 4711"));
    assert_eq!(refused.code(), Code::NotFound);
    assert!(refused.message().contains("system.queries"), "{}", refused.message());
}

#[test]
fn a_limit_of_time_is_deadline_exceeded() {
    let engine = EngineOptions { statement_timeout_ms: Some(300), ..EngineOptions::default() };
    let served = Served::over(options(), engine);
    let mut client = served.client();
    let ended: Result<_, FlightError> = wait(query(&mut client, SILENT, None));
    let ended = status(ended);
    assert_eq!(ended.code(), Code::DeadlineExceeded);
    assert!(ended.message().contains("300 ms") && ended.message().contains("quiver.statement_timeout_ms"), "{}", ended.message());
}

#[test]
fn a_planned_result_that_is_not_fetched_blocks_no_statement() {
    let served = Served::over(options(), EngineOptions { queries_max: Some(1), ..EngineOptions::default() });
    let infos: Vec<_> = (0..5).map(|_| wait(served.client().execute(SILENT.into(), None)).unwrap()).collect();
    assert_eq!(served.rows("SELECT count(*) FROM generate_series(1, 10) AS t (value)"), ["10"]);
    assert_eq!(served.stat("results_waiting"), infos.len() as u64);
}

#[test]
fn a_statement_that_waits_too_long_in_the_queue_fails() {
    let engine = EngineOptions { queries_max: Some(1), queue_timeout_ms: Some(300), ..EngineOptions::default() };
    let served = Served::over(options(), engine);
    let info = wait(served.client().execute(SILENT.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    let id = id_of(&served, SILENT, "running");
    let refused = status(served.try_rows("SELECT count(*) FROM generate_series(1, 10) AS t (value)"));
    assert_eq!(refused.code(), Code::ResourceExhausted);
    served.update(&format!("KILL {id}"));
}
