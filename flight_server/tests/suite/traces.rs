//! Traces, as an OpenTelemetry collector gets them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow_flight::Empty;
use flight_server::{Server, ServerError, ServerOptions};
use futures::{StreamExt, TryStreamExt};
use prost::{Message, Oneof};
use tokio::net::{TcpListener, TcpSocket};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::helpers::{Served, eventually, options, query, ticket, wait, with};
use crate::http::metric;

/// The checked parts of an ExportTraceServiceRequest.
#[derive(Clone, PartialEq, Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<OfResource>,
}

#[derive(Clone, PartialEq, Message)]
struct OfResource {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<OfScope>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct OfScope {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    started: u64,
    #[prost(fixed64, tag = "8")]
    ended: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
    #[prost(message, optional, tag = "15")]
    status: Option<SpanStatus>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanStatus {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Int(i64),
}

#[derive(Clone, PartialEq, Message)]
struct ExportAnswer {}

fn of(attributes: &[Attribute], key: &str) -> String {
    let value = attributes.iter().find(|attribute| attribute.key == key).and_then(|attribute| attribute.value.clone()?.value);
    match value {
        Some(Value::Text(text)) => text,
        Some(Value::Int(number)) => number.to_string(),
        None => String::new(),
    }
}

impl Span {
    fn of(&self, key: &str) -> String {
        of(&self.attributes, key)
    }
}

/// The service of a collector, and the requests it got.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Export>>>);

impl NamedService for Collector {
    const NAME: &'static str = "opentelemetry.proto.collector.trace.v1.TraceService";
}

impl UnaryService<Export> for Collector {
    type Response = ExportAnswer;
    type Future = BoxFuture<Response<ExportAnswer>, Status>;

    fn call(&mut self, request: Request<Export>) -> Self::Future {
        self.0.lock().unwrap().push(request.into_inner());
        Box::pin(async { Ok(Response::new(ExportAnswer {})) })
    }
}

impl Service<http::Request<Body>> for Collector {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        assert!(request.uri().path().ends_with("/Export"), "{}", request.uri());
        let service = self.clone();
        Box::pin(async move { Ok(Grpc::new(ProstCodec::<ExportAnswer, Export>::default()).unary(service, request).await) })
    }
}

impl Collector {
    /// Starts to listen.
    fn on(socket: TcpSocket) -> Collector {
        let collector = Collector::default();
        let service = collector.clone();
        wait(async move {
            let incoming = TcpIncoming::from(socket.listen(1_024).unwrap());
            tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));
        });
        collector
    }

    fn spans(&self) -> Vec<Span> {
        let exports = self.0.lock().unwrap();
        exports.iter().flat_map(|export| &export.resources).flat_map(|of| &of.scopes).flat_map(|of| of.spans.clone()).collect()
    }

    /// Waits for the first span that satisfies the predicate.
    fn span(&self, what: &str, is_it: impl Fn(&Span) -> bool) -> Span {
        eventually(what, || self.spans().iter().any(&is_it));
        self.spans().into_iter().find(&is_it).unwrap()
    }
}

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A reserved address without a listener.
fn reserved() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(anywhere()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

fn sending_to(address: SocketAddr) -> ServerOptions {
    ServerOptions { otlp_endpoint: Some(format!("http://{address}")), http: Some(anywhere()), ..options() }
}

fn served() -> (Collector, Served) {
    let (socket, address) = reserved();
    (Collector::on(socket), Served::with(sending_to(address)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_query_is_a_span_with_its_report_below_the_call_that_read_it() {
    let (collector, served) = served();
    served.update("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 1000) AS s (value)");
    assert_eq!(served.rows("SELECT sum(a) FROM t"), ["500500"]);
    let span = collector.span("the query is there", |span| span.name == "query" && span.of("quiver.bytes_touched") != "0");
    assert!(span.of("quiver.query_id").parse::<u64>().unwrap() > 0 && span.of("quiver.session_id").parse::<u64>().unwrap() > 0, "{span:?}");
    assert_eq!(
        (span.of("quiver.kind"), span.of("quiver.outcome"), span.of("quiver.rows_returned")),
        ("query".into(), "done".into(), "1".into())
    );
    assert!(span.of("db.system.name") == "quiver" && span.of("quiver.bytes_returned") != "0", "{span:?}");
    assert!(span.started < span.ended && span.status.is_none(), "{span:?}");
    let call = collector.span("the call is there", |call| call.span_id == span.parent_span_id);
    assert_eq!((call.name.as_str(), call.kind), ("arrow.flight.protocol.FlightService/DoGet", 2));
    assert_eq!(
        (call.of("rpc.method"), call.of("rpc.grpc.status_code"), call.of("network.peer.address")),
        ("DoGet".into(), "0".into(), "127.0.0.1".into())
    );
    assert_eq!((&call.trace_id, call.parent_span_id.len()), (&span.trace_id, 0));
    let resource = collector.0.lock().unwrap()[0].resources[0].resource.clone().unwrap();
    assert_eq!(
        (of(&resource.attributes, "service.name"), of(&resource.attributes, "service.instance.id")),
        ("quiver".into(), served.address.to_string())
    );
}

#[test]
fn statements_that_change_something_and_that_fail_are_spans_too() {
    let (collector, served) = served();
    served.update("CREATE TABLE t (a BIGINT)");
    served.update("INSERT INTO t VALUES (1)");
    assert!(served.try_rows("SELECT no_such_column FROM t").is_err());
    let kinds = ["ddl", "write"].map(|kind| collector.span(kind, |span| span.name == kind));
    for span in kinds {
        assert_eq!(span.of("quiver.outcome"), "done", "{span:?}");
        let call = collector.span("its call", |call| call.span_id == span.parent_span_id);
        assert_eq!(call.of("rpc.method"), "DoPut");
    }
    let failed = collector.span("the failed one", |span| span.of("quiver.outcome") == "failed");
    assert_eq!(failed.status, Some(SpanStatus { code: 2 }));
    assert!(!failed.of("error.type").is_empty(), "{failed:?}");
    // The text of the statement is private.
    let all = format!("{:?}", collector.0.lock().unwrap());
    assert!(!all.contains("no_such_column") && !all.contains("INSERT"), "{all}");
}

#[test]
fn a_caller_that_names_its_trace_finds_the_spans_in_it() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const UNWANTED: &str = "1af7651916cd43dd8448eb211c80319c";
    let (collector, served) = served();
    let mut client = served.client();
    client.set_header("traceparent", format!("00-{UNWANTED}-b7ad6b7169203331-00"));
    wait(query(&mut client, "SELECT 1", None)).unwrap();
    client.set_header("traceparent", format!("00-{TRACE}-b7ad6b7169203331-01"));
    wait(query(&mut client, "SELECT 1", None)).unwrap();
    let span = collector.span("the query is there", |span| span.name == "query" && hex(&span.trace_id) == TRACE);
    let call = collector.span("its call", |call| call.span_id == span.parent_span_id);
    assert_eq!((hex(&call.trace_id), hex(&call.parent_span_id)), (TRACE.to_string(), "b7ad6b7169203331".to_string()));
    assert!(collector.spans().iter().all(|span| hex(&span.trace_id) != UNWANTED));
}

#[test]
fn a_large_result_is_in_the_trace_of_its_call_also_when_it_is_not_read_to_the_end() {
    const TRACES: [&str; 2] = ["4af7651916cd43dd8448eb211c80319c", "5af7651916cd43dd8448eb211c80319c"];
    const UNWANTED: &str = "6af7651916cd43dd8448eb211c80319c";
    const LARGE: &str = "SELECT value FROM generate_series(1, 1000000)";
    let (collector, served) = served();
    let mut client = served.client();
    for (trace, flags, is_whole) in [(UNWANTED, "00", true), (UNWANTED, "00", false), (TRACES[0], "01", true), (TRACES[1], "01", false)] {
        client.set_header("traceparent", format!("00-{trace}-b7ad6b7169203331-{flags}"));
        let info = wait(client.execute(LARGE.to_string(), None)).unwrap();
        let batches = wait(client.do_get(ticket(&info))).unwrap();
        let read = wait(batches.take(if is_whole { usize::MAX } else { 30 }).try_collect::<Vec<_>>()).unwrap();
        assert!(read.len() > 20, "{}", read.len());
    }
    for (trace, outcome) in TRACES.into_iter().zip(["done", "cancelled"]) {
        let span = collector.span(outcome, |span| span.name == "query" && span.of("quiver.outcome") == outcome);
        let call = collector.span("its call", |call| call.span_id == span.parent_span_id);
        assert_eq!((hex(&span.trace_id).as_str(), call.of("rpc.method").as_str()), (trace, "DoGet"));
    }
    assert_eq!(collector.spans().iter().filter(|span| span.name == "query").count(), 2);
}

#[test]
fn a_result_that_nobody_fetches_ends_in_the_trace_of_the_call_that_planned_it() {
    const TRACE: &str = "2af7651916cd43dd8448eb211c80319c";
    const UNWANTED: &str = "3af7651916cd43dd8448eb211c80319c";
    let (socket, address) = reserved();
    let collector = Collector::on(socket);
    let served = Served::with(ServerOptions { ticket_idle: Duration::from_millis(300), ..sending_to(address) });
    let mut client = served.client();
    for (trace, flags) in [(UNWANTED, "00"), (TRACE, "01")] {
        client.set_header("traceparent", format!("00-{trace}-b7ad6b7169203331-{flags}"));
        wait(client.execute("SELECT 1".to_string(), None)).unwrap();
    }
    let span = collector.span("the query is there", |span| span.name == "query");
    assert_eq!(span.of("quiver.outcome"), "cancelled");
    let call = collector.span("its call", |call| call.span_id == span.parent_span_id);
    assert_eq!((call.of("rpc.method"), &call.trace_id), ("GetFlightInfo".into(), &span.trace_id));
    eventually("both are forgotten", || served.stat("results_waiting") == 0);
    assert_eq!(collector.spans().iter().filter(|span| span.name == "query").count(), 1);
}

#[test]
fn a_call_that_is_refused_says_how() {
    let (socket, address) = reserved();
    let collector = Collector::on(socket);
    let served = Served::with_users(sending_to(address), &["ada"]);
    wait(served.flight().list_actions(with(Empty {}, "authorization", "Bearer garbage"))).unwrap_err();
    let call = collector.span("the call", |span| span.of("rpc.method") == "ListActions");
    assert_eq!((call.of("rpc.grpc.status_code"), call.status), ("16".into(), None));
}

#[test]
fn spans_wait_for_a_collector_that_comes_later() {
    let (socket, address) = reserved();
    let served = Served::with(sending_to(address));
    assert_eq!(served.rows("SELECT 7"), ["7"]);
    // One or two attempts have failed by then.
    std::thread::sleep(Duration::from_millis(2_500));
    let collector = Collector::on(socket);
    collector.span("the query has arrived", |span| span.name == "query");
    eventually("it is counted", || metric(&served, "quiver_spans_sent_total") >= 3.0);
    assert_eq!(metric(&served, "quiver_spans_dropped_total"), 0.0);
}

#[test]
fn a_collector_that_says_nothing_holds_up_neither_queries_nor_the_end() {
    let deaf = wait(async { TcpListener::bind(anywhere()).await.unwrap() });
    let served = Served::with(sending_to(deaf.local_addr().unwrap()));
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(served.rows("SELECT 7"), ["7"]);
    }
    served.end();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn spans_that_are_refused_for_good_are_dropped_and_counted() {
    // A gRPC server without the trace service.
    let other = Served::new();
    let served = Served::with(sending_to(other.address));
    assert_eq!(served.rows("SELECT 7"), ["7"]);
    eventually("they are counted", || metric(&served, "quiver_spans_dropped_total") >= 3.0);
    assert_eq!(metric(&served, "quiver_spans_sent_total"), 0.0);
}

#[test]
fn remaining_spans_are_sent_when_the_server_ends() {
    let (collector, served) = served();
    assert_eq!(served.rows("SELECT 7"), ["7"]);
    served.end();
    assert!(collector.spans().iter().any(|span| span.name == "query"), "{:?}", collector.spans());
}

#[test]
fn an_address_that_is_none_is_refused() {
    let engine = engine::Engine::open_temporary(engine::EngineOptions::default()).unwrap();
    let refused = wait(Server::bind(&engine, ServerOptions { otlp_endpoint: Some("no address".into()), ..options() })).err().unwrap();
    assert!(matches!(&refused, ServerError::Otlp { .. }), "{refused}");
    assert!(refused.to_string().contains("http://127.0.0.1:4317"), "{refused}");
}
