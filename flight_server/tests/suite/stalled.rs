//! Clients that stop reading: their unread bytes are bounded, and their results end after a while.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::client::FlightSqlServiceClient;
use flight_server::{Limits, ServerOptions};
use futures::StreamExt;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::helpers::{Served, eventually, options, query, shown, ticket, wait};
use crate::http::metric;

const ENDLESS: &str = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
const UNREAD: &str = "quiver_results_unread_bytes";

fn served(unread_bytes_max: u64, stall_timeout: Duration) -> Served {
    served_within(Limits { unread_bytes_max: Some(unread_bytes_max), stall_timeout, ..Limits::default() })
}

fn served_within(limits: Limits) -> Served {
    Served::with(ServerOptions { limits, http: Some("127.0.0.1:0".parse().unwrap()), ..options() })
}

/// A connection of its own with the smallest flow-control window of HTTP/2.
fn narrow_channel(served: &Served) -> Channel {
    let endpoint = Channel::from_shared(format!("http://{}", served.address)).unwrap();
    wait(async { endpoint.initial_stream_window_size(65_535).initial_connection_window_size(65_535).connect_lazy() })
}

/// An endless result that is not read yet.
fn begun(served: &Served) -> Streaming<FlightData> {
    begun_over(narrow_channel(served))
}

fn begun_over(channel: Channel) -> Streaming<FlightData> {
    wait(async {
        let info = FlightSqlServiceClient::new(channel.clone()).execute(ENDLESS.into(), None).await.unwrap();
        FlightServiceClient::new(channel).do_get(ticket(&info)).await.unwrap().into_inner()
    })
}

fn end_of(messages: &mut Streaming<FlightData>) -> Status {
    wait(async {
        loop {
            match messages.next().await {
                Some(Ok(_)) => {}
                Some(Err(status)) => return status,
                None => panic!("the result is whole"),
            }
        }
    })
}

#[test]
fn results_of_hundreds_of_stalled_clients_are_bounded_and_others_are_answered() {
    const BYTES_MAX: u64 = 8 << 20;
    let served = served(BYTES_MAX, Duration::from_secs(2));
    let mut stalled = Vec::new();
    let mut most: f64 = 0.0;
    for client in 0..300 {
        stalled.push(begun(&served));
        if client % 20 == 0 {
            most = most.max(metric(&served, UNREAD));
        }
    }
    assert!(most > 0.0);
    for answer in 0..3 {
        assert_eq!(served.rows(&format!("SELECT {answer}")), [answer.to_string()]);
        most = most.max(metric(&served, UNREAD));
    }
    // Only messages of existing rows exceed the bound, one for each result.
    assert!(most < 4.0 * BYTES_MAX as f64, "{most}");
    drop(stalled);
    eventually("all is given back", || metric(&served, UNREAD) == 0.0);
}

/// The same with the token of a user.
fn begun_as(served: &Served, user: &str) -> FlightRecordBatchStream {
    let mut client = FlightSqlServiceClient::new(narrow_channel(served));
    wait(async {
        client.handshake(user, "secret").await.unwrap();
        let info = client.execute(ENDLESS.into(), None).await.unwrap();
        client.do_get(ticket(&info)).await.unwrap()
    })
}

#[test]
fn results_that_a_user_does_not_read_keep_no_other_user_waiting() {
    const BYTES_MAX: u64 = 4 << 20;
    // No result is ended within the time of the test.
    let long = Duration::from_secs(3600);
    let limits = Limits { unread_bytes_max: Some(BYTES_MAX), stall_timeout: long, call_idle: long, ..Limits::default() };
    let served =
        Served::with_users(ServerOptions { limits, http: Some("127.0.0.1:0".parse().unwrap()), ..options() }, &["ada", "bob", "eve"]);
    let _unread: Vec<_> = (0..40).map(|_| begun_as(&served, "ada")).collect();
    eventually("ada has her share", || metric(&served, UNREAD) >= (BYTES_MAX / 4) as f64);
    for user in ["bob", "eve"] {
        let mut client = served.client_of(user);
        for answer in 0..5 {
            assert_eq!(shown(&wait(query(&mut client, &format!("SELECT {answer}"), None)).unwrap()), [answer.to_string()]);
        }
        // More than a user's share, in many messages.
        let rows = wait(query(&mut client, "SELECT count(*), sum(value) FROM generate_series(1, 1000000) AS t (value)", None)).unwrap();
        assert_eq!(shown(&rows), ["1000000 500000500000"]);
        let rows = wait(query(&mut client, "SELECT value FROM generate_series(1, 1000000) AS t (value)", None)).unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000_000);
    }
    assert!(metric(&served, UNREAD) < BYTES_MAX as f64);
}

#[test]
fn a_stalled_client_gets_an_error_when_it_reads_on() {
    let served = served(1, Duration::from_secs(2));
    let mut messages = begun(&served);
    assert_eq!(served.stat("results_running"), 1);
    eventually("its result is ended", || served.stat("results_running") == 0);
    let ended = end_of(&mut messages);
    assert_eq!(ended.code(), Code::DeadlineExceeded, "{ended}");
    assert!(ended.message().contains("had not read on for 2 s") && ended.message().contains("run the statement again"), "{ended}");
}

#[test]
fn a_client_that_never_reads_on_loses_its_connection_and_its_result() {
    let served = served(1, Duration::from_millis(500));
    let messages = begun(&served);
    eventually("something lies there unread", || metric(&served, UNREAD) > 0.0);
    eventually("it is given back", || metric(&served, UNREAD) == 0.0);
    assert_eq!(served.rows("SELECT 7"), ["7"]);
    drop(messages);
}

#[test]
fn a_client_that_reads_slowly_is_not_taken_for_one_that_has_stalled() {
    let served = served(1, Duration::from_secs(1));
    let mut messages = begun(&served);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        wait(messages.next()).unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(served.stat("results_running"), 1);
}

#[test]
fn a_client_that_stops_is_idle_also_while_its_one_message_waits_to_be_read() {
    // One message of 8,192 numbers is more than a quarter and less than all, so that none is made beside it.
    const BYTES_MAX: u64 = 128 << 10;
    let limits = Limits { unread_bytes_max: Some(BYTES_MAX), call_idle: Duration::from_secs(2), ..Limits::default() };
    let served = served_within(limits);
    let messages = begun(&served);
    let is_tight = |unread: f64| (BYTES_MAX / 4..BYTES_MAX).contains(&(unread as u64));
    eventually("its message waits", || is_tight(metric(&served, UNREAD)));
    assert_eq!(served.stat("results_running"), 1);
    eventually("its result is ended", || served.stat("results_running") == 0);
    drop(messages);
}

#[test]
fn a_stalled_connection_is_kept_while_there_is_room_for_others() {
    let short = Duration::from_millis(300);
    let served = served_within(Limits { call_idle: short, stall_timeout: short, ..Limits::default() });
    let mut messages = begun(&served);
    eventually("its result is ended", || served.stat("results_running") == 0);
    // Stalled results are checked once a second.
    std::thread::sleep(Duration::from_secs(3));
    let ended = end_of(&mut messages);
    assert_eq!(ended.code(), Code::Cancelled, "{ended}");
}

/// A proxy between a client and the server, which can stop forwarding the server's bytes.
fn passage(server: SocketAddr, is_blocked: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
        let (mut from_server, mut to_client) = (server, client);
        let mut bytes = vec![0; 1 << 16];
        while !is_blocked.load(Ordering::Relaxed) {
            match from_server.read(&mut bytes) {
                Ok(count) if count > 0 => to_client.write_all(&bytes[..count]).unwrap(),
                _ => return,
            }
        }
        // The connection stays open, with full buffers.
        std::thread::sleep(Duration::from_secs(60));
    });
    address
}

#[test]
fn a_connection_that_cannot_be_written_to_is_closed_too() {
    let served = served(1, Duration::from_millis(500));
    let is_blocked = Arc::new(AtomicBool::new(false));
    let address = passage(served.address, Arc::clone(&is_blocked));
    let window = 1 << 30;
    let channel = wait(async {
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
        endpoint.initial_stream_window_size(window).initial_connection_window_size(window).connect_lazy()
    });
    let messages = begun_over(channel);
    is_blocked.store(true, Ordering::Relaxed);
    eventually("something lies there unread", || metric(&served, UNREAD) > 0.0);
    eventually("its result is ended", || served.stat("results_running") == 0);
    eventually("all is given back", || metric(&served, UNREAD) == 0.0);
    assert_eq!(served.rows("SELECT 7"), ["7"]);
    drop(messages);
}
