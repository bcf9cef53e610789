//! Connections: their limit, refused ones, and timeouts of silent clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_flight::Empty;
use arrow_flight::flight_service_client::FlightServiceClient;
use bytes::Bytes;
use flight_server::{IdleTimeouts, Limits, ServerOptions, TlsOptions};
use futures::StreamExt;
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::io::AsyncReadExt;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::{Code, Status};

use crate::certificates::Authority;
use crate::helpers::{Served, eventually, options, wait};
use crate::http::metric;

const MILLISECOND: Duration = Duration::from_millis(1);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

fn served(silence: IdleTimeouts, tls: TlsOptions) -> Served {
    let limits = Limits { silence, ..Limits::default() };
    Served::with(ServerOptions { limits, tls, http: Some("127.0.0.1:0".parse().unwrap()), ..options() })
}

fn greeting(time: Duration) -> IdleTimeouts {
    IdleTimeouts { greeting: time, ..IdleTimeouts::default() }
}

/// A connection that sends these bytes and then is silent.
fn client_stream(served: &Served, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // It may be closed already.
    let _ = stream.write_all(bytes);
    stream
}

/// Reads until the server closes the connection. Returns how long that took.
fn until_closed(mut stream: TcpStream) -> Duration {
    let (begun, mut read) = (Instant::now(), Vec::new());
    match stream.read_to_end(&mut read) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("the connection is open still"),
        _ => begun.elapsed(),
    }
}

fn refused(served: &Served, reason: &str) -> f64 {
    metric(served, &format!("quiver_connections_refused_total{{reason=\"{reason}\"}}"))
}

#[test]
fn connections_are_counted_as_they_come_and_go() {
    let limits = Limits { connections_max: 2, ..Limits::default() };
    let served = Served::with(ServerOptions { limits, http: Some("127.0.0.1:0".parse().unwrap()), ..options() });
    let open = || metric(&served, "quiver_connections");
    let accepted = || metric(&served, "quiver_connections_accepted_total");
    assert_eq!((open(), accepted(), refused(&served, "too_many")), (0.0, 0.0, 0.0));
    let (first, second) = (client_stream(&served, PREFACE), client_stream(&served, PREFACE));
    eventually("both are counted", || (open(), accepted()) == (2.0, 2.0));
    until_closed(client_stream(&served, PREFACE));
    assert_eq!((open(), accepted(), refused(&served, "too_many")), (2.0, 2.0, 1.0));
    drop((first, second));
    eventually("both are gone", || open() == 0.0);
    assert_eq!(accepted(), 2.0);
}

#[test]
fn a_client_that_does_not_get_as_far_as_http2_is_cut_off() {
    let served = served(greeting(2_500 * MILLISECOND), TlsOptions::default());
    let streams: Vec<TcpStream> = [0, 1, PREFACE.len() - 1].map(|length| client_stream(&served, &PREFACE[..length])).into();
    let settled = client_stream(&served, &[PREFACE, SETTINGS].concat());
    for stream in streams {
        until_closed(stream);
    }
    eventually("all are counted", || refused(&served, "silent") == 3.0);
    // A client that has begun HTTP/2 has no such deadline.
    assert_eq!(metric(&served, "quiver_connections"), 1.0);
    drop(settled);
}

#[test]
fn a_client_that_sends_a_byte_now_and_then_is_cut_off_all_the_same() {
    let served = served(greeting(600 * MILLISECOND), TlsOptions::default());
    let mut stream = client_stream(&served, b"");
    let begun = Instant::now();
    let sent = PREFACE.iter().take_while(|byte| {
        std::thread::sleep(100 * MILLISECOND);
        stream.write_all(&[**byte]).is_ok()
    });
    assert!(sent.count() < PREFACE.len(), "{:?}", begun.elapsed());
}

#[test]
fn tls_that_comes_to_nothing_is_cut_off_and_counted() {
    let authority = Authority::new();
    let served = served(greeting(2_500 * MILLISECOND), authority.tls());
    // Only the beginning of a TLS handshake.
    until_closed(client_stream(&served, b"\x16\x03\x01"));
    eventually("the silent one is counted", || refused(&served, "silent") == 1.0);
    until_closed(client_stream(&served, b"GET / HTTP/1.1\r\n\r\n"));
    eventually("the other one is counted", || refused(&served, "tls") == 1.0);
    // A complete TLS handshake, and then silence.
    wait(async {
        let mut stream = through_tls(&authority, &served).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    eventually("the third one is counted", || refused(&served, "silent") == 2.0);
    eventually("none is open", || metric(&served, "quiver_connections") == 0.0);
}

async fn through_tls(authority: &Authority, served: &Served) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let versions = ClientConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions().unwrap();
    let connector = TlsConnector::from(Arc::new(versions.with_root_certificates(roots).with_no_client_auth()));
    let stream = tokio::net::TcpStream::connect(served.address).await.unwrap();
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
}

#[test]
fn a_client_that_answers_no_ping_is_cut_off() {
    let silence = IdleTimeouts { ping_every: 200 * MILLISECOND, ping_wait: 300 * MILLISECOND, ..IdleTimeouts::default() };
    let served = served(silence, TlsOptions::default());
    until_closed(client_stream(&served, &[PREFACE, SETTINGS].concat()));
    eventually("none is open", || metric(&served, "quiver_connections") == 0.0);
}

#[test]
fn idle_clients_that_answer_pings_live_on() {
    const CLIENTS: usize = 300;
    let silence = IdleTimeouts {
        greeting: Duration::from_secs(60),
        ping_every: 100 * MILLISECOND,
        ping_wait: Duration::from_secs(60),
        ..IdleTimeouts::default()
    };
    let served = served(silence, TlsOptions::default());
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| FlightServiceClient::new(served.another_channel())).collect();
    let mut call_all = || {
        wait(async {
            for client in &mut clients {
                client.list_actions(Empty {}).await.unwrap();
            }
        });
    };
    call_all();
    std::thread::sleep(2_000 * MILLISECOND);
    assert_eq!(metric(&served, "quiver_connections"), CLIENTS as f64);
    call_all();
    // No client had to reconnect.
    assert_eq!(metric(&served, "quiver_connections_accepted_total"), CLIENTS as f64);
}

/// The answer to a call that has sent these bytes and no more.
fn answer_to(served: &Served, call: &str, come: &'static [u8]) -> Code {
    let came = futures::stream::iter([Ok::<_, Status>(Frame::data(Bytes::from_static(come)))]);
    let body = Body::new(StreamBody::new(came.chain(futures::stream::pending())));
    let uri = format!("http://{}/arrow.flight.protocol.FlightService/{call}", served.address);
    let request = http::Request::post(uri).header("content-type", "application/grpc").header("te", "trailers").body(body).unwrap();
    let mut channel = served.channel.clone();
    let response = wait(async {
        std::future::poll_fn(|context| channel.poll_ready(context)).await.unwrap();
        channel.call(request).await.unwrap()
    });
    Code::from_bytes(response.headers()["grpc-status"].as_bytes())
}

#[test]
fn a_request_that_does_not_come_whole_is_not_waited_for() {
    let silence = IdleTimeouts { request: 300 * MILLISECOND, ..IdleTimeouts::default() };
    let served = served(silence, TlsOptions::default());
    // Nothing; half of the length of a message; a message of 16 bytes with 4 of them.
    for come in [b"".as_slice(), b"\0\0", b"\0\0\0\0\x10half"] {
        for call in ["GetFlightInfo", "DoGet", "DoAction", "ListActions"] {
            assert_eq!(answer_to(&served, call, come), Code::DeadlineExceeded, "{call} {come:?}");
        }
    }
    // A whole message, but not the end of the request.
    assert_eq!(answer_to(&served, "GetFlightInfo", b"\0\0\0\0\0"), Code::DeadlineExceeded);
    assert_eq!(served.rows("SELECT 7"), ["7"]);
}
