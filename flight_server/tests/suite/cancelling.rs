//! A query ends when its client cancels it or leaves.

use arrow_flight::sql::{
    ActionCancelQueryRequest, ActionCancelQueryResult, Any, CommandStatementQuery, CommandStatementUpdate, ProstMessageExt,
};
use arrow_flight::{CancelFlightInfoRequest, CancelFlightInfoResult, FlightData, FlightDescriptor, FlightInfo};
use futures::StreamExt;
use prost::Message;
use tonic::Code;

use crate::helpers::{Served, code, eventually, fetch, ticket, wait, with};

const ENDLESS: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
/// Returns no row for hours, so that only its end is visible.
const SILENT: &str =
    "SELECT count(*) FROM generate_series(1, 1000000000) AS a (x), generate_series(1, 1000000000) AS b (y) WHERE x * y = 7";

fn cancelled(served: &Served, info: FlightInfo) -> i32 {
    let answer = served.act("CancelFlightInfo", CancelFlightInfoRequest::new(info).encode_to_vec()).unwrap();
    CancelFlightInfoResult::decode(answer[0].clone()).unwrap().status
}

#[test]
fn a_query_ends_when_its_stream_is_dropped() {
    let served = Served::new();
    let info = wait(served.client().execute(ENDLESS.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    assert_eq!(served.stat("results_running"), 1);
    drop(messages);
    eventually("no query runs", || served.stat("results_running") == 0);
}

#[test]
fn a_query_that_gives_no_rows_yet_ends_as_well() {
    let served = Served::new();
    let info = wait(served.client().execute(SILENT.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    assert_eq!(served.stat("results_running"), 1);
    drop(messages);
    eventually("no query runs", || served.stat("results_running") == 0);
}

#[test]
fn a_running_query_is_cancelled_by_its_flight_info() {
    let served = Served::new();
    let info = wait(served.client().execute(SILENT.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    assert_eq!(cancelled(&served, info.clone()), 1);
    let end = wait(messages.next()).unwrap().unwrap_err();
    assert_eq!(end.code(), Code::Cancelled);
    eventually("no query runs", || served.stat("results_running") == 0);
    let again = served.act("CancelFlightInfo", CancelFlightInfoRequest::new(info).encode_to_vec());
    assert_eq!(again.unwrap_err().code(), Code::NotFound);
}

#[test]
fn a_result_that_waits_is_cancelled_too() {
    let served = Served::new();
    let mut client = served.client();
    let info = wait(client.execute("SELECT 1".into(), None)).unwrap();
    let request = ActionCancelQueryRequest { info: info.encode_to_vec().into() };
    let answer = served.act("CancelQuery", request.as_any().encode_to_vec()).unwrap();
    let answer: ActionCancelQueryResult = Any::decode(answer[0].clone()).unwrap().unpack().unwrap().unwrap();
    assert_eq!(answer.result, 1);
    assert_eq!(code(wait(fetch(&mut client, &info))), Code::NotFound);
}

const ENDLESS_TABLE: &str = "CREATE TABLE endless AS SELECT value FROM generate_series(1, 1000000000000) AS t (value)";

fn runs(served: &Served) -> bool {
    !served.rows("SELECT 1 FROM system.queries WHERE statement LIKE 'CREATE TABLE endless%'").is_empty()
}

fn ends_without_a_trace(served: &Served) {
    eventually("it runs no more", || !runs(served));
    assert_eq!(served.rows("SELECT table_name FROM information_schema.tables WHERE table_name = 'endless'"), [""; 0]);
}

#[test]
fn a_change_ends_when_the_client_of_its_do_put_has_gone() {
    let served = Served::new();
    let mut client = served.client();
    let change = wait(async { tokio::spawn(async move { client.execute_update(ENDLESS_TABLE.into(), None).await }) });
    eventually("it runs", || runs(&served));
    change.abort();
    ends_without_a_trace(&served);
}

#[test]
fn a_change_ends_by_the_name_of_its_call() {
    let served = Served::new();
    for is_put in [false, true] {
        let mut flight = served.flight();
        let command = match is_put {
            true => CommandStatementUpdate { query: ENDLESS_TABLE.into(), transaction_id: None }.as_any(),
            false => CommandStatementQuery { query: ENDLESS_TABLE.into(), transaction_id: None }.as_any(),
        };
        let descriptor = FlightDescriptor::new_cmd(command.encode_to_vec());
        let change = wait(async {
            tokio::spawn(async move {
                match is_put {
                    true => {
                        let message = FlightData::new().with_descriptor(descriptor);
                        flight.do_put(with(futures::stream::iter([message]), "x-quiver-call", "mine")).await.map(|_| ())
                    }
                    false => flight.get_flight_info(with(descriptor, "x-quiver-call", "mine")).await.map(|_| ()),
                }
            })
        });
        eventually("it runs", || runs(&served));
        assert_eq!(served.act("cancel_call", "another").unwrap_err().code(), Code::NotFound);
        assert!(served.act("cancel_call", "mine").unwrap().is_empty());
        assert_eq!(wait(change).unwrap().unwrap_err().code(), Code::Cancelled);
        ends_without_a_trace(&served);
        assert_eq!(served.act("cancel_call", "mine").unwrap_err().code(), Code::NotFound);
    }
}
