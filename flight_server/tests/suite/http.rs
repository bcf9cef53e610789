//! `/health` and `/metrics`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use engine::{Engine, EngineOptions};
use flight_server::{Server, ServerError, ServerOptions};
use futures::StreamExt;
use tonic::Code;

use crate::helpers::{Served, code, eventually, options, ticket, wait};

fn served() -> Served {
    Served::with(with_http())
}

fn with_http() -> ServerOptions {
    ServerOptions { http: Some("127.0.0.1:0".parse().unwrap()), ..options() }
}

pub struct Answer {
    pub status: u16,
    head: String,
    body: String,
}

fn say(address: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_string() }
}

pub fn get(served: &Served, path: &str) -> Answer {
    say(served.http.unwrap(), &format!("GET {path} HTTP/1.1\r\nHost: quiver\r\nConnection: close\r\n\r\n"))
}

/// The value of the line with this prefix.
pub fn metric(served: &Served, name: &str) -> f64 {
    let body = get(served, "/metrics").body;
    let line = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in\n{body}")).parse().unwrap()
}

#[test]
fn a_server_that_takes_statements_is_healthy() {
    let served = served();
    let answer = get(&served, "/health");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    let health: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((&health["status"], &health["version"]), (&"ok".into(), &env!("CARGO_PKG_VERSION").into()));
    assert!(health["uptime_s"].is_u64());
}

#[test]
fn a_server_that_leaves_says_so_and_begins_nothing_new() {
    let mut served = served();
    let sql = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
    let info = wait(served.client().execute(sql.into(), None)).unwrap();
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    served.leave();
    eventually("the health is draining", || get(&served, "/health").body.contains("\"draining\""));
    assert_eq!(get(&served, "/health").status, 503);
    assert_eq!(code(served.try_update("CREATE TABLE t (a BIGINT)")), Code::Unavailable);
    drop(messages);
    assert!(wait(served.serving.take().unwrap()).unwrap());
}

#[test]
fn statements_are_counted_by_kind_and_outcome() {
    let served = served();
    served.update("CREATE TABLE t (a BIGINT)");
    served.update("INSERT INTO t VALUES (1), (2), (3)");
    served.update("INSERT INTO t SELECT a + 10 FROM t");
    let before = metric(&served, "quiver_rows_returned_total");
    assert_eq!(served.rows("SELECT count(*) FROM t WHERE a > 0"), ["6"]);
    assert!(served.try_rows("SELECT 1 / (a - a) FROM t").is_err());
    assert!(metric(&served, "quiver_rows_returned_total") > before);
    for (labels, least) in [
        ("kind=\"query\",outcome=\"done\"", 1.0),
        ("kind=\"query\",outcome=\"failed\"", 1.0),
        ("kind=\"write\",outcome=\"done\"", 2.0),
        ("kind=\"ddl\",outcome=\"done\"", 1.0),
    ] {
        let name = format!("quiver_statements_total{{{labels}}}");
        assert!(metric(&served, &name) >= least, "{name}");
    }
    assert!(metric(&served, "quiver_bytes_touched_total") > 0.0);
    assert!(metric(&served, "quiver_bytes_returned_total") > 0.0);
    assert!(metric(&served, "quiver_statement_duration_seconds_count{kind=\"write\"}") >= 2.0);
}

#[test]
fn metrics_follow_running_statements_and_held_objects() {
    let served = served();
    assert_eq!(metric(&served, "quiver_statements_running"), 0.0);
    let sql = "SELECT value FROM generate_series(1, 1000000000000) AS t (value)";
    let info = wait(served.client().execute(sql.into(), None)).unwrap();
    assert_eq!((metric(&served, "quiver_results_waiting"), metric(&served, "quiver_results_running")), (1.0, 0.0));
    assert_eq!((metric(&served, "quiver_statements_unread"), metric(&served, "quiver_statements_running")), (1.0, 0.0));
    let mut messages = wait(served.flight().do_get(ticket(&info))).unwrap().into_inner();
    wait(messages.next()).unwrap().unwrap();
    assert_eq!(metric(&served, "quiver_results_running"), 1.0);
    // Without `queries_max` there are no permits: the statement counts as unread as soon as its client stops reading.
    eventually("it is unread", || {
        metric(&served, "quiver_statements_unread") == 1.0 && metric(&served, "quiver_statements_running") == 0.0
    });
    drop(messages);
    eventually("it is gone", || metric(&served, "quiver_statements_unread") == 0.0 && metric(&served, "quiver_statements_running") == 0.0);
    eventually("it is counted", || get(&served, "/metrics").body.contains("quiver_statements_total{kind=\"query\",outcome=\"cancelled\"}"));
}

#[test]
fn the_store_and_the_memory_are_shown() {
    let served = served();
    let (tables, logs) = (metric(&served, "quiver_tables"), metric(&served, "quiver_log_bytes"));
    served.update("CREATE TABLE t (a BIGINT)");
    served.update("INSERT INTO t VALUES (1), (2), (3)");
    assert_eq!(metric(&served, "quiver_tables"), tables + 1.0);
    assert!(metric(&served, "quiver_log_bytes") > logs);
    served.update("CHECKPOINT");
    assert_eq!((metric(&served, "quiver_segments"), metric(&served, "quiver_log_bytes")), (1.0, 0.0));
    assert!(metric(&served, "quiver_store_bytes") > 0.0);
    assert!(metric(&served, "quiver_memory_limit_bytes") > 0.0);
    assert_eq!(metric(&served, "quiver_compactions_total{outcome=\"failed\"}"), 0.0);
    let build = format!("quiver_build{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(metric(&served, &build), 1.0);
}

#[test]
fn metrics_are_text_that_prometheus_reads() {
    let served = served();
    let answer = get(&served, "/metrics");
    assert!(answer.head.contains("content-type: application/openmetrics-text"), "{}", answer.head);
    assert!(answer.body.ends_with("# EOF\n"), "{}", answer.body);
    for line in answer.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("quiver_") && value.parse::<f64>().is_ok(), "{line}");
    }
    let names: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len(), "{names:?}");
}

#[test]
fn other_requests_are_refused() {
    let served = served();
    assert_eq!(get(&served, "/").status, 404);
    assert_eq!(get(&served, "/metrics/../etc/passwd").status, 404);
    let post = say(served.http.unwrap(), "POST /health HTTP/1.1\r\nHost: q\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
    assert_eq!(post.status, 405);
    assert!(post.head.contains("allow: get, head"), "{}", post.head);
    let head = say(served.http.unwrap(), "HEAD /health HTTP/1.1\r\nHost: q\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(say(served.http.unwrap(), "\0\0\0\0\r\n\r\n").status, 400);
    let long = format!("GET /health HTTP/1.1\r\nHost: q\r\nX: {}\r\n\r\n", "x".repeat(64 << 10));
    assert_eq!(say_or_cut_off(served.http.unwrap(), &long), 431);
    assert_eq!(get(&served, "/health").status, 200);
}

/// The server may close before everything was sent.
fn say_or_cut_off(address: SocketAddr, request: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    let _ = stream.write_all(request.as_bytes());
    let mut start = [0; 16];
    match stream.read(&mut start) {
        Ok(read) => String::from_utf8_lossy(&start[..read]).split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(431),
        Err(_) => 431,
    }
}

#[test]
fn a_client_that_sends_nothing_is_cut_off_and_holds_up_nobody() {
    let served = served();
    let mut silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(served.http.unwrap()).unwrap()).collect();
    silent.iter_mut().for_each(|stream| stream.write_all(b"GET /health HTTP/1.1\r\nX: ").unwrap());
    assert_eq!(get(&served, "/health").status, 200);
    let stream = &mut silent[0];
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut bytes = Vec::new();
    // The connection ends, whatever was sent before.
    let _ = stream.read_to_end(&mut bytes);
    assert!(!String::from_utf8_lossy(&bytes).contains("200 OK"));
}

#[test]
fn http_listens_on_this_machine_alone() {
    let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
    let options = ServerOptions { http: Some("0.0.0.0:0".parse().unwrap()), ..options() };
    let refused = wait(Server::bind(&engine, options)).err().unwrap();
    assert!(matches!(refused, ServerError::HttpNotLoopback(_)), "{refused}");
}
