//! Limits of clients: at once, for each user, and in time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use arrow_flight::sql::EndTransaction;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{FlightData, FlightDescriptor};
use flight_server::{Limits, ServerOptions};
use futures::StreamExt;
use tonic::Code;

use crate::helpers::{Served, code, eventually, options, query, shown, ticket, wait};
use crate::http::metric;

fn limited(limits: Limits) -> ServerOptions {
    ServerOptions { limits, ..options() }
}

const NUMBERS: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
const LONG: &str = "SELECT value, repeat('x', 1000) AS t FROM generate_series(1, 10000000) AS g (value)";

#[test]
fn a_connection_too_many_is_closed_and_the_next_one_taken_when_one_has_gone() {
    let served = Served::with(limited(Limits { connections_max: 2, ..Limits::default() }));
    let is_open = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server sends nothing before the client does.
        let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        matches!(stream.read(&mut [0; 1]), Ok(1))
    };
    let connect = || TcpStream::connect(served.address).unwrap();
    let (mut first, mut second) = (connect(), connect());
    assert!(is_open(&mut first) && is_open(&mut second));
    assert!(!is_open(&mut connect()));
    drop(first);
    eventually("another one is taken", || is_open(&mut connect()));
}

#[test]
fn a_result_that_nobody_reads_on_is_ended() {
    let served = Served::with(limited(Limits { call_idle: Duration::from_millis(300), ..Limits::default() }));
    let info = wait(served.client().execute(LONG.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    eventually("no query runs", || served.stat("results_running") == 0);
    let ended = wait(async {
        loop {
            match messages.next().await {
                Some(Ok(_)) => {}
                Some(Err(status)) => return status,
                None => panic!("the result is whole"),
            }
        }
    });
    assert_eq!(ended.code(), Code::Cancelled);
}

#[test]
fn a_query_without_rows_for_long_does_not_count_as_unread() {
    let served = Served::with(limited(Limits { call_idle: Duration::from_millis(300), ..Limits::default() }));
    let sql = "SELECT count(*) FROM generate_series(1, 100000) AS a (x), generate_series(1, 10000) AS b (y) WHERE x % 7 = y % 11";
    assert_eq!(served.rows(sql).len(), 1);
}

#[test]
fn a_client_that_leaves_in_the_middle_takes_its_query_with_it_within_a_second() {
    let served = Served::new();
    let ended_after = || {
        let mut client = FlightSqlServiceClient::new(served.another_channel());
        let info = wait(client.execute(LONG.into(), None)).unwrap();
        let mut messages = wait(client.do_get(ticket(&info))).unwrap();
        wait(messages.next()).unwrap().unwrap();
        assert_eq!(served.stat("results_running"), 1);
        // This closes the connection too, because it is the only user of the channel.
        drop((messages, client));
        let start = Instant::now();
        eventually("no query runs", || served.stat("results_running") == 0 && served.engine.statement_counts().running == 0);
        start.elapsed()
    };
    // A busy machine may be late, but not in every attempt.
    let attempts: Vec<Duration> = (0..3).map(|_| ended_after()).collect();
    assert!(attempts.iter().any(|attempt| *attempt < Duration::from_secs(1)), "{attempts:?}");
}

#[test]
#[ignore = "takes the cores from tests beside it; make test-long"]
fn a_thousand_clients_that_leave_at_once_in_the_middle_leave_nothing_behind() {
    const CLIENTS: usize = 1_000;
    let served = Served::with(ServerOptions { http: Some("127.0.0.1:0".parse().unwrap()), ..options() });
    let channels: Vec<_> = (0..CLIENTS).map(|_| served.another_channel()).collect();
    let begun = channels.into_iter().map(|channel| async move {
        let mut client = FlightSqlServiceClient::new(channel);
        let info = client.execute(NUMBERS.into(), None).await.unwrap();
        let mut messages = client.do_get(ticket(&info)).await.unwrap();
        messages.next().await.unwrap().unwrap();
        (client, messages)
    });
    let clients: Vec<_> = wait(futures::stream::iter(begun).buffer_unordered(50).collect());
    assert_eq!(served.stat("results_running"), CLIENTS as u64);
    drop(clients);
    eventually("no query runs", || served.stat("results_running") == 0 && served.engine.statement_counts().running == 0);
    eventually("nothing of them is held", || metric(&served, "quiver_results_unread_bytes") == 0.0);
    assert_eq!(served.rows("SELECT 7"), ["7"]);
}

#[test]
fn rows_that_do_not_come_any_more_are_not_waited_for() {
    let served = Served::with(limited(Limits { call_idle: Duration::from_millis(300), ..Limits::default() }));
    served.update("CREATE TABLE t (a BIGINT)");
    let first = FlightData { flight_descriptor: Some(FlightDescriptor::new_path(vec!["t".into()])), ..Default::default() };
    let stalled = futures::stream::iter([first]).chain(futures::stream::pending());
    let refused = wait(served.flight().do_put(stalled)).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), Code::DeadlineExceeded);
    assert_eq!(served.count("t"), 0);
}

#[test]
fn there_are_so_many_results_read_at_once_and_no_more() {
    let served = Served::with(limited(Limits { streams_max: 1, ..Limits::default() }));
    let info = wait(served.client().execute(LONG.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    let mut client = served.client();
    let info = wait(client.execute("SELECT 7".into(), None)).unwrap();
    let refused = wait(served.flight().do_get(ticket(&info))).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    drop(messages);
    eventually("the other one has ended", || served.stat("results_running") == 0);
    // It still waits.
    assert_eq!(shown(&wait(crate::helpers::fetch(&mut client, &info)).unwrap()), ["7"]);
}

#[test]
fn one_user_cannot_lock_others_out() {
    let options = ServerOptions { sessions_max: 8, transactions_max: 8, ..limited(Limits { user_share_percent: 25, ..Limits::default() }) };
    let served = Served::with_users(options, &["ada", "bob"]);
    let (mut ada, mut bob) = (served.client_of("ada"), served.client_of("bob"));
    // Transactions without a statement: the oldest is dropped.
    let idle: Vec<_> = (0..20).map(|_| wait(bob.begin_transaction()).unwrap()).collect();
    assert_eq!(code(wait(query(&mut bob, "SELECT 1", Some(idle[0].clone())))), Code::NotFound);
    for transaction in &idle[18..] {
        wait(query(&mut bob, "SELECT 1", Some(transaction.clone()))).unwrap();
    }
    // Transactions with a statement: no more than the user's share.
    let third = wait(bob.begin_transaction()).unwrap();
    assert_eq!(code(wait(query(&mut bob, "SELECT 1", Some(third)))), Code::ResourceExhausted);
    let transaction = wait(ada.begin_transaction()).unwrap();
    assert_eq!(shown(&wait(query(&mut ada, "SELECT 1", Some(transaction))).unwrap()), ["1"]);
}

#[test]
fn idle_fresh_transactions_lock_nobody_out() {
    let served = Served::with(ServerOptions { sessions_max: 3, ..options() });
    let mut client = served.client();
    let begun: Vec<_> = (0..10).map(|_| wait(client.begin_transaction()).unwrap()).collect();
    assert_eq!(served.stat("transactions"), 3);
    assert_eq!(shown(&wait(query(&mut client, "SELECT 1", Some(begun[9].clone()))).unwrap()), ["1"]);
    assert_eq!(code(wait(client.end_transaction(begun[0].clone(), EndTransaction::Commit))), Code::NotFound);
}

#[test]
fn a_statement_that_is_prepared_in_sql_counts_as_kept() {
    let served = Served::with(ServerOptions { kept_bytes_max: 150_000, ..options() });
    let mut client = served.client();
    wait(client.handshake("anybody", "")).unwrap();
    let prepare = |name: &str| format!("PREPARE {name} AS SELECT '{}'", "x".repeat(20_000));
    let mut update = |sql: String| wait(client.execute_update(sql, None));
    update(prepare("one")).unwrap();
    update(prepare("two")).unwrap();
    assert_eq!(code(update(prepare("three"))), Code::ResourceExhausted);
    update("DEALLOCATE one".into()).unwrap();
    update(prepare("three")).unwrap();
}
