//! The progress of a running statement.

use arrow_flight::{Action, FlightData, FlightInfo};
use bytes::Bytes;
use engine::EngineOptions;
use futures::StreamExt;
use serde_json::Value;
use tonic::{Code, Request, Streaming};

use crate::helpers::{Client, Served, eventually, options, ticket, wait};

const TABLE: &str = "CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 100000) AS s (value)";
/// Reads the table twice, and then works for long.
const LONG: &str = "SELECT count(*) FROM t AS one, t AS other WHERE one.a * other.a % 1000003 = -1";
/// Returns no row for hours, and reads no table.
const SILENT: &str = "SELECT count(*) FROM generate_series(1, 1000000000000) AS t (value) WHERE value < 0";

fn first_value(answers: &[Bytes]) -> Option<Value> {
    answers.first().map(|answer| serde_json::from_slice(answer).unwrap())
}

fn progress(served: &Served, info: &FlightInfo) -> Option<Value> {
    first_value(&served.act("progress", ticket(info).ticket).unwrap())
}

fn is_scanned(progress: &Value) -> bool {
    let [scanned, total] = ["rows_scanned", "rows_total"].map(|name| progress[name].as_u64());
    scanned > Some(0) && scanned <= total
}

/// Its result is being read.
fn begun(served: &Served, info: &FlightInfo) -> Streaming<FlightData> {
    let mut messages = wait(served.flight().do_get(ticket(info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    messages
}

#[test]
fn a_result_has_its_progress_while_it_is_read() {
    let served = Served::new();
    served.update(TABLE);
    let info = wait(served.client().execute(LONG.into(), None)).unwrap();
    // It does not run yet.
    assert_eq!(progress(&served, &info), None);
    let messages = begun(&served, &info);
    eventually("rows were scanned", || progress(&served, &info).as_ref().is_some_and(is_scanned));
    drop(messages);
    eventually("nothing of it runs any more", || progress(&served, &info).is_none());
}

#[test]
fn how_many_rows_there_are_is_not_known_before_a_table_is_read() {
    let served = Served::new();
    let info = wait(served.client().execute(SILENT.into(), None)).unwrap();
    let _messages = begun(&served, &info);
    let mut last = None;
    eventually("it is told", || {
        last = progress(&served, &info);
        last.is_some()
    });
    let last = last.unwrap();
    assert_eq!((last["rows_scanned"].as_u64(), &last["rows_total"]), (Some(0), &Value::Null));
    assert!(last["elapsed_ms"].as_f64() > Some(0.0), "{last}");
}

#[test]
fn progress_is_reported_while_all_permits_are_taken() {
    let served = Served::over(options(), EngineOptions { queries_max: Some(1), ..EngineOptions::default() });
    served.update(TABLE);
    let [running, queued] = [LONG, SILENT].map(|sql| wait(served.client().execute(sql.into(), None)).unwrap());
    let _running = begun(&served, &running);
    eventually("rows were scanned", || progress(&served, &running).as_ref().is_some_and(is_scanned));
    let _queued = begun(&served, &queued);
    eventually("it waits", || served.rows("SELECT state FROM system.queries WHERE queue_position = 1") == ["queued"]);
    eventually("who waits is told too", || progress(&served, &queued).is_some());
    // The two statements, and this one.
    assert_eq!(served.rows("SELECT count(*) FROM system.queries"), ["3"]);
}

fn progress_for(client: &mut Client, info: &FlightInfo) -> Option<Value> {
    wait(async {
        let mut request = Request::new(Action::new("progress", ticket(info).ticket));
        let token = format!("Bearer {}", client.token().unwrap());
        request.metadata_mut().insert("authorization", token.parse().unwrap());
        let answer = client.inner_mut().do_action(request).await.unwrap().into_inner().message().await.unwrap();
        first_value(&answer.map(|answer| answer.body).into_iter().collect::<Vec<_>>())
    })
}

#[test]
fn the_progress_of_another_user_is_as_if_it_were_not_there() {
    let served = Served::with_users(options(), &["ada", "bob"]);
    let (mut ada, mut bob) = (served.client_of("ada"), served.client_of("bob"));
    let info = wait(bob.execute(SILENT.into(), None)).unwrap();
    let _messages = wait(bob.do_get(ticket(&info))).unwrap();
    eventually("bob is told", || progress_for(&mut bob, &info).is_some());
    // Not even an administrator, who has system.queries.
    assert_eq!(progress_for(&mut ada, &info), None);
}

#[test]
fn a_call_without_ticket_and_session_has_no_progress() {
    let served = Served::new();
    for garbage in ["garbage", "{\"table\": \"t\"}"] {
        assert_eq!(served.act("progress", garbage).unwrap_err().code(), Code::InvalidArgument, "{garbage}");
    }
    let refused = served.act("progress", "").unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("session"), "{}", refused.message());
}
