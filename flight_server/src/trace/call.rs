//! The span of a call: from its headers to the end of its answer. Its parent is the caller's span, if the call names one. Statements that
//! end while a thread works for the call are its children.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::SystemTime;

use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Request, Response};
use tonic::codegen::{BoxFuture, Service};
use tonic::server::NamedService;
use tonic::{Code, Status};

use super::context::Context;
use super::messages::{ERROR, KeyValue, SERVER, Span, SpanStatus};
use super::{Traces, nanoseconds};
use crate::transport::Peer;

/// The methods of Flight. A client can call any other name, but that name is not exported.
const METHODS: [&str; 10] =
    ["Handshake", "ListFlights", "GetFlightInfo", "PollFlightInfo", "GetSchema", "DoGet", "DoPut", "DoExchange", "DoAction", "ListActions"];
/// The header with the trace of a call.
const TRACE_PARENT: &str = "traceparent";
const GRPC_STATUS: &str = "grpc-status";

/// A service that makes a span for each call, if traces are on.
#[derive(Clone)]
pub struct Traced<S> {
    service: S,
    traces: Option<Traces>,
}

pub fn traced<S>(service: S, traces: Option<Traces>) -> Traced<S> {
    Traced { service, traces }
}

impl<S: NamedService> NamedService for Traced<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B, E> Service<Request<Body>> for Traced<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = E, Future = BoxFuture<Response<B>, E>> + NamedService,
    B: 'static,
    E: 'static,
{
    type Response = Response<Answer<B>>;
    type Error = E;
    type Future = BoxFuture<Response<Answer<B>>, E>;

    fn poll_ready(&mut self, waker: &mut task::Context<'_>) -> Poll<Result<(), E>> {
        self.service.poll_ready(waker)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = self.traces.as_ref().map(|traces| Call::of(&request, S::NAME, traces));
        let answer = within(&call, || self.service.call(request));
        Box::pin(Answering { answer: Some(answer), call })
    }
}

/// Exports the span when it is dropped.
struct Call {
    traces: Traces,
    context: Context,
    parent: Option<Context>,
    service: &'static str,
    method: &'static str,
    peer: Option<SocketAddr>,
    started: SystemTime,
    /// `None` until the answer has ended. If it is dropped before, the client has cancelled the call.
    code: Option<Code>,
}

impl Call {
    fn of(request: &Request<Body>, service: &'static str, traces: &Traces) -> Call {
        let parent = request.headers().get(TRACE_PARENT).and_then(|header| Context::of_header(header.to_str().ok()?));
        let method_name = request.uri().path().rsplit('/').next().unwrap_or_default();
        Call {
            traces: traces.clone(),
            context: parent.map_or_else(Context::new, Context::below),
            parent,
            service,
            method: METHODS.into_iter().find(|method| *method == method_name).unwrap_or("unknown"),
            peer: request.extensions().get::<Peer>().map(|peer| peer.address),
            started: SystemTime::now(),
            code: None,
        }
    }

    /// The final status, if the headers or trailers have it.
    fn record_status(&mut self, headers: &HeaderMap) {
        if let Some(code) = headers.get(GRPC_STATUS) {
            self.code = Some(Code::from_bytes(code.as_bytes()));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.context.is_sampled {
            return;
        }
        let Call { context, service, method, .. } = self;
        let code = self.code.unwrap_or(Code::Cancelled);
        let mut attributes = vec![
            KeyValue::text("rpc.system", "grpc"),
            KeyValue::text("rpc.service", *service),
            KeyValue::text("rpc.method", *method),
            KeyValue::int("rpc.grpc.status_code", code as u64),
        ];
        if let Some(peer) = self.peer {
            attributes.push(KeyValue::text("network.peer.address", peer.ip().to_canonical().to_string()));
        }
        // An error of the client is not a failure of the server.
        let is_ours = matches!(
            code,
            Code::Unknown | Code::DeadlineExceeded | Code::Unimplemented | Code::Internal | Code::Unavailable | Code::DataLoss
        );
        self.traces.send(Span {
            trace_id: context.trace_id.to_vec(),
            span_id: context.span_id.to_vec(),
            parent_span_id: self.parent.map_or_else(Vec::new, |parent| parent.span_id.to_vec()),
            name: format!("{service}/{method}"),
            kind: SERVER,
            start_time_unix_nano: nanoseconds(self.started),
            end_time_unix_nano: nanoseconds(SystemTime::now()),
            attributes,
            status: is_ours.then(|| SpanStatus { message: code.description().to_string(), code: ERROR }),
            flags: context.flags().into(),
        });
    }
}

/// Runs work as part of a traced call.
fn within<T>(call: &Option<Call>, work: impl FnOnce() -> T) -> T {
    match call {
        Some(call) => call.context.within(work),
        None => work(),
    }
}

/// The call, until there is an answer.
struct Answering<B, E> {
    answer: Option<BoxFuture<Response<B>, E>>,
    call: Option<Call>,
}

impl<B, E> Future for Answering<B, E> {
    type Output = Result<Response<Answer<B>>, E>;

    fn poll(mut self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(answer) = &mut this.answer else { return Poll::Pending };
        let Poll::Ready(done) = within(&this.call, || answer.as_mut().poll(waker)) else { return Poll::Pending };
        this.answer = None;
        let mut call = this.call.take();
        Poll::Ready(done.map(|response| {
            call.iter_mut().for_each(|call| call.record_status(response.headers()));
            response.map(|body| Answer { body: Some(body), call })
        }))
    }
}

impl<B, E> Drop for Answering<B, E> {
    /// Objects that the call still holds are dropped within its span.
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            within(&self.call, || drop(answer));
        }
    }
}

/// The body of the answer, until it has ended.
pub struct Answer<B> {
    body: Option<B>,
    call: Option<Call>,
}

impl<B: HttpBody<Error = Status> + Unpin> HttpBody for Answer<B> {
    type Data = B::Data;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, waker: &mut task::Context<'_>) -> Poll<Option<Result<Frame<B::Data>, Status>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let Some(call) = &mut this.call else { return Pin::new(body).poll_frame(waker) };
        let polled = call.context.within(|| Pin::new(body).poll_frame(waker));
        match &polled {
            Poll::Ready(Some(Ok(frame))) => frame.trailers_ref().into_iter().for_each(|trailers| call.record_status(trailers)),
            Poll::Ready(Some(Err(status))) => call.code = Some(status.code()),
            Poll::Ready(None) | Poll::Pending => {}
        }
        if call.code.is_some() {
            this.call = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl<B> Drop for Answer<B> {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            within(&self.call, || drop(body));
        }
    }
}
