//! Start and shutdown of the server.

use std::time::Duration;

use arrow_flight::Ticket;
use arrow_flight::sql::{CommandStatementSubstraitPlan, ProstMessageExt, SubstraitPlan};
use engine::{Engine, EngineOptions};
use flight_server::{Server, ServerError, ServerOptions};
use futures::StreamExt;
use prost::Message;
use tonic::Code;

use crate::helpers::{Served, eventually, fetch, options, shown, ticket, wait};

#[test]
fn it_listens_where_others_can_reach_it_only_when_secured() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let options = ServerOptions { listen: address.parse().unwrap(), ..options() };
        let refused = wait(Server::bind(&engine, options)).err().unwrap();
        assert!(matches!(refused, ServerError::NoTlsAndNoUsers(_)), "{refused}");
        for word in ["--tls-cert FILE", "--tls-key FILE", "quiver user add", "--insecure"] {
            assert!(refused.to_string().contains(word), "{refused}");
        }
    }
    wait(Server::bind(&engine, ServerOptions { listen: "0.0.0.0:0".parse().unwrap(), insecure: true, ..options() })).unwrap();
}

#[test]
fn a_port_in_use_is_an_error() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let first = wait(Server::bind(&engine, options())).unwrap();
    let refused = wait(Server::bind(&engine, ServerOptions { listen: first.address(), ..options() })).err().unwrap();
    assert!(matches!(refused, ServerError::Listen { .. }), "{refused}");
}

#[test]
fn a_result_that_is_being_read_is_read_to_its_end() {
    let mut served = Served::new();
    let sql = "SELECT value, repeat('leaving ', 100) AS words FROM generate_series(1, 100000) AS t (value)";
    let info = wait(served.client().execute(sql.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    served.leave();
    std::thread::sleep(Duration::from_millis(300));
    let ended = wait(async {
        let mut last = None;
        while let Some(message) = messages.next().await {
            last = Some(message.unwrap());
        }
        last.unwrap()
    });
    assert!(!ended.app_metadata.is_empty());
    assert!(wait(served.serving.take().unwrap()).unwrap());
}

#[test]
fn a_result_that_takes_too_long_is_cut_off_with_an_error() {
    let mut served = Served::with(ServerOptions { drain: Duration::from_millis(300), ..options() });
    let sql = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
    let info = wait(served.client().execute(sql.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    served.leave();
    let error = wait(async {
        loop {
            if let Err(error) = messages.next().await.unwrap() {
                return error;
            }
        }
    });
    assert_eq!(error.code(), Code::Cancelled);
    assert!(!wait(served.serving.take().unwrap()).unwrap());
}

#[test]
fn planned_results_can_be_fetched_during_shutdown_and_nothing_new_begins() {
    let mut served = Served::set_up(options(), &["CREATE TABLE t AS SELECT 7 AS a"]);
    let endless = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
    let info = wait(served.client().execute(endless.into(), None)).unwrap();
    let mut reading = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(reading.next()).unwrap().unwrap();
    let promised = wait(served.client().execute("SELECT a FROM t".into(), None)).unwrap();
    let plan = served.act("substrait_plan", r#"{"sql": "SELECT a FROM t"}"#).unwrap().remove(0);
    let plan = CommandStatementSubstraitPlan { plan: Some(SubstraitPlan { plan, version: String::new() }), transaction_id: None };
    let new = [Ticket::new(r#"{"table": "t"}"#), Ticket::new(plan.as_any().encode_to_vec())];
    for ticket in &new {
        wait(served.flight().do_get(ticket.clone())).unwrap();
    }
    served.leave();
    eventually("it leaves", || served.try_rows("SELECT 1").is_err());
    for ticket in new {
        let refused = wait(served.flight().do_get(ticket)).unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    }
    assert_eq!(shown(&wait(fetch(&mut served.client(), &promised)).unwrap()), ["7"]);
    drop(reading);
    assert!(wait(served.serving.take().unwrap()).unwrap());
}

#[test]
fn nobody_new_is_let_in_once_it_leaves() {
    let mut served = Served::new();
    assert_eq!(served.rows("SELECT 1"), ["1"]);
    served.leave();
    assert!(wait(served.serving.take().unwrap()).unwrap());
    assert!(served.try_rows("SELECT 1").is_err());
}
