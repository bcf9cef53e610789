//! DoGet on the wire. tonic copies a message twice before it reaches the socket. Here the body of the response consists of the
//! buffers themselves, one frame per message, and small buffers are joined. tonic handles all other calls.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_flight::Ticket;
use arrow_flight::flight_service_server::FlightServiceServer;
use futures::{Stream, StreamExt};
use hyper::body::Frame;
use prost::Message as _;
use tonic::body::Body;
use tonic::codec::{DecodeBuf, Decoder, Streaming};
use tonic::codegen::{Service as HttpService, http};
use tonic::server::NamedService;
use tonic::{Code, Request, Status};

use super::Calls;
use crate::error::log_status;
use crate::stream::FlightStream;
use crate::transport::{Answer, Parts, require_whole_body, wait, within_deadline};

const DO_GET: &str = "/arrow.flight.protocol.FlightService/DoGet";
const DO_PUT: &str = "/arrow.flight.protocol.FlightService/DoPut";
/// The limit for a call without rows: the longest statement, and its envelope. It is decoded before the caller is
/// authenticated, and a list of empty names takes twelve times its bytes in memory.
const REQUEST_BYTES_MAX: usize = 66 << 20;
/// How tonic's messages about an undecodable message begin. It gives them the code of a bug in the server.
const UNREADABLE: [&str; 3] = ["failed to decode Protobuf message", "Unexpected EOF decoding stream", "Missing request message"];
const ENCODING: &str = "grpc-encoding";
const GRPC: http::HeaderValue = http::HeaderValue::from_static("application/grpc");

/// The service, with its own DoGet in front of it.
#[derive(Clone)]
pub struct Downloads {
    calls: Calls,
    puts: FlightServiceServer<Calls>,
    others: FlightServiceServer<Calls>,
    message_bytes_max: usize,
    request_bytes_max: usize,
    in_place: bool,
}

impl Downloads {
    /// With `in_place`, which needs a connection without TLS, rows are sent from where they are stored.
    pub fn new(calls: Calls, message_bytes_max: usize, in_place: bool) -> Downloads {
        let request_bytes_max = message_bytes_max.min(REQUEST_BYTES_MAX);
        let of_at_most = |bytes_max| FlightServiceServer::new(calls.clone()).max_decoding_message_size(bytes_max);
        let (puts, others) = (of_at_most(message_bytes_max), of_at_most(request_bytes_max));
        Downloads { calls, puts, others, message_bytes_max, request_bytes_max, in_place }
    }
}

impl NamedService for Downloads {
    const NAME: &'static str = <FlightServiceServer<Calls> as NamedService>::NAME;
}

impl HttpService<http::Request<Body>> for Downloads {
    type Response = http::Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let wait = wait(request.headers());
        let answer = self.answer(request);
        Box::pin(async move {
            Ok(within_deadline(wait, answer).await.unwrap_or_else(|late| log_status("a call", late).into_http().map(Answer::One)))
        })
    }
}

impl Downloads {
    fn answer(&mut self, request: http::Request<Body>) -> Pin<Box<dyn Future<Output = http::Response<Answer>> + Send>> {
        match request.uri().path() {
            DO_GET => {}
            DO_PUT => return Box::pin(in_our_words(self.puts.call(require_whole_body(request)), self.message_bytes_max)),
            _ => return Box::pin(in_our_words(self.others.call(require_whole_body(request)), self.request_bytes_max)),
        }
        let (calls, request_bytes_max) = (self.calls.clone(), self.request_bytes_max);
        let in_place = self.in_place;
        Box::pin(async move {
            let messages = match ticket(request, request_bytes_max).await {
                Ok(request) => calls.download(request).await,
                Err(status) => Err(status),
            };
            match messages {
                Ok(messages) => response(messages, in_place),
                Err(status) => unreadable(&status, request_bytes_max).unwrap_or(status).into_http().map(Answer::One),
            }
        })
    }
}

async fn in_our_words(answer: impl Future<Output = Result<http::Response<Body>, Infallible>>, bytes_max: usize) -> http::Response<Answer> {
    let Ok(response) = answer.await;
    let refused = Status::from_header_map(response.headers()).and_then(|status| unreadable(&status, bytes_max));
    refused.map_or(response, Status::into_http).map(Answer::One)
}

/// Rewrites the errors of tonic for a request that it cannot read: a message over its limit, which is the only error of this code that
/// a request can cause, and an undecodable one.
fn unreadable(status: &Status, bytes_max: usize) -> Option<Status> {
    let why = match status.code() {
        Code::OutOfRange => format!(
            "a message of the request is longer than the {bytes_max} bytes that this call takes; \
             send less in one message, as parameters, or as rows in several messages of DoPut"
        ),
        Code::Internal if UNREADABLE.iter().any(|start| status.message().starts_with(start)) => {
            "a message of the request is not one of Flight, or is cut short; send what a Flight client has written".to_string()
        }
        _ => return None,
    };
    Some(log_status("a request", Status::invalid_argument(why)))
}

async fn ticket(request: http::Request<Body>, bytes_max: usize) -> Result<Request<Ticket>, Status> {
    let (parts, body) = request.into_parts();
    if parts.headers.get(ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(Status::unimplemented("requests are not taken compressed; send them as they are"));
    }
    let mut messages = Streaming::new_request(Tickets, body, None, Some(bytes_max));
    let ticket = messages.message().await?.ok_or_else(|| Status::invalid_argument("DoGet needs a ticket"))?;
    Ok(Request::from_http(http::Request::from_parts(parts, ticket)))
}

struct Tickets;

impl Decoder for Tickets {
    type Item = Ticket;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Ticket>, Status> {
        let refused = |_| Status::invalid_argument("the ticket is not one of Flight; send what a Flight client has written");
        Ticket::decode(bytes).map(Some).map_err(refused)
    }
}

fn response(messages: FlightStream, in_place: bool) -> http::Response<Answer> {
    let mut response = http::Response::new(Answer::Messages(Box::pin(frames(messages, in_place))));
    response.headers_mut().insert(http::header::CONTENT_TYPE, GRPC);
    response
}

/// The messages and the final status. The stream is dropped before the status is sent.
fn frames(messages: FlightStream, in_place: bool) -> impl Stream<Item = Frame<Parts>> + Send {
    futures::stream::unfold(Some(messages), move |messages| async move {
        let mut messages = messages?;
        Some(match messages.next().await.map(|message| message.and_then(|message| message.into_wire(in_place))) {
            Some(Ok(wire)) => (Frame::data(Parts::from(wire)), Some(messages)),
            Some(Err(status)) => (trailers(&status), None),
            None => (trailers(&Status::ok("")), None),
        })
    })
}

fn trailers(status: &Status) -> Frame<Parts> {
    let mut headers = http::HeaderMap::new();
    if status.add_header(&mut headers).is_err() {
        // A header cannot hold its metadata.
        headers.clear();
        headers.insert("grpc-status", http::HeaderValue::from(status.code() as i32));
    }
    Frame::trailers(headers)
}
