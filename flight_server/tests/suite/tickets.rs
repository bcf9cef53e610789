//! A ticket is a handle: valid once, for a limited time, and not guessable.

use std::time::Duration;

use arrow::datatypes::Schema;
use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{Action, FlightDescriptor, FlightEndpoint, RenewFlightEndpointRequest, Ticket};
use flight_server::ServerOptions;
use futures::TryStreamExt;
use prost::Message;
use tonic::{Code, Status};

use crate::helpers::{Client, Served, code, fetch, options, shown, ticket, wait, with};

fn get(served: &Served, ticket: impl Into<bytes::Bytes>) -> Status {
    wait(served.flight().do_get(Ticket { ticket: ticket.into() })).map(|_| ()).unwrap_err()
}

#[test]
fn a_result_can_be_fetched_once() {
    let served = Served::new();
    let mut client = served.client();
    let info = wait(client.execute("SELECT 1".into(), None)).unwrap();
    assert_eq!(shown(&wait(fetch(&mut client, &info)).unwrap()), ["1"]);
    assert_eq!(code(wait(fetch(&mut client, &info))), Code::NotFound);
}

#[test]
fn an_unknown_ticket_is_not_found() {
    let served = Served::new();
    let ticket = TicketStatementQuery { statement_handle: "0123456789abcdef0123456789abcdef".into() };
    assert_eq!(get(&served, ticket.as_any().encode_to_vec()).code(), Code::NotFound);
}

#[test]
fn a_ticket_expires_unless_it_is_renewed() {
    let served = Served::with(ServerOptions { ticket_idle: Duration::from_millis(1500), ..options() });
    let mut client = served.client();
    let idle_info = wait(client.execute("SELECT 1".into(), None)).unwrap();
    let renewed = wait(client.execute("SELECT 2".into(), None)).unwrap();
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(400));
        let endpoint = renewed.endpoint[0].clone();
        let answer = served.act("RenewFlightEndpoint", RenewFlightEndpointRequest::new(endpoint.clone()).encode_to_vec()).unwrap();
        assert_eq!(FlightEndpoint::decode(answer[0].clone()).unwrap(), endpoint);
    }
    assert_eq!(shown(&wait(fetch(&mut client, &renewed)).unwrap()), ["2"]);
    let expired = get(&served, ticket(&idle_info).ticket);
    assert_eq!(expired.code(), Code::NotFound);
    assert_eq!(served.stat("results_waiting"), 0);
}

fn session(served: &Served) -> Client {
    let mut client = served.client();
    wait(client.handshake("anybody", "")).unwrap();
    client
}

#[test]
fn unfetched_results_end_with_their_session() {
    let served = Served::new();
    let (mut ended, mut other) = (session(&served), session(&served));
    let begun = wait(ended.execute("SELECT 1".into(), None)).unwrap();
    let transaction = wait(ended.begin_transaction()).unwrap();
    let infos = [wait(ended.execute("SELECT 2".into(), None)).unwrap(), wait(ended.execute("SELECT 3".into(), Some(transaction))).unwrap()];
    let other_info = wait(other.execute("SELECT 4".into(), None)).unwrap();
    let messages = wait(ended.do_get(ticket(&begun))).unwrap();
    assert_eq!(served.stat("results_waiting"), 3);
    let bearer = format!("Bearer {}", ended.token().unwrap());
    wait(served.flight().do_action(with(Action::new("CloseSession", ""), "authorization", &bearer))).unwrap();
    assert_eq!(served.stat("results_waiting"), 1);
    for info in infos {
        assert_eq!(get(&served, ticket(&info).ticket).code(), Code::NotFound);
    }
    assert_eq!(shown(&wait(messages.try_collect::<Vec<_>>()).unwrap()), ["1"]);
    assert_eq!(shown(&wait(fetch(&mut other, &other_info)).unwrap()), ["4"]);
}

#[test]
fn unread_results_of_one_session_take_nothing_from_another() {
    let served = Served::with(ServerOptions { tickets_max: 4, ..options() });
    let (mut greedy, mut quiet) = (session(&served), session(&served));
    let quiet_info = wait(quiet.execute("SELECT 'kept'".into(), None)).unwrap();
    for number in 0..20 {
        wait(greedy.execute(format!("SELECT {number}"), None)).unwrap();
    }
    assert_eq!(served.stat("results_waiting"), 4);
    assert_eq!(shown(&wait(fetch(&mut quiet, &quiet_info)).unwrap()), ["kept"]);
}

#[test]
fn a_schema_is_asked_for_without_a_ticket() {
    let served = Served::new();
    let query = CommandStatementQuery { query: "SELECT 1 AS a".into(), transaction_id: None };
    let descriptor = FlightDescriptor::new_cmd(query.as_any().encode_to_vec());
    let schema = wait(served.flight().get_schema(descriptor)).unwrap().into_inner();
    assert_eq!(Schema::try_from(&schema).unwrap().field(0).name(), "a");
    assert_eq!(served.stat("results_waiting"), 0);
}

#[test]
fn a_statement_is_no_ticket() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT)");
    let command = CommandStatementQuery { query: "INSERT INTO t VALUES (1)".into(), transaction_id: None };
    assert_eq!(get(&served, command.as_any().encode_to_vec()).code(), Code::InvalidArgument);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn beyond_the_limit_the_oldest_result_gives_way() {
    let served = Served::with(ServerOptions { tickets_max: 2, ..options() });
    let mut client = served.client();
    let infos: Vec<_> = (1..=3).map(|number| wait(client.execute(format!("SELECT {number}"), None)).unwrap()).collect();
    assert_eq!(served.stat("results_waiting"), 2);
    assert_eq!(code(wait(fetch(&mut client, &infos[0]))), Code::NotFound);
    assert_eq!(shown(&wait(fetch(&mut client, &infos[1])).unwrap()), ["2"]);
    assert_eq!(shown(&wait(fetch(&mut client, &infos[2])).unwrap()), ["3"]);
}
