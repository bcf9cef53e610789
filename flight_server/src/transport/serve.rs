//! HTTP/2 on the connections that come in, each until it ends.
//!
//! tonic's own server takes an answer whose pieces are each one run of bytes, and sends each by itself. Here an answer may be of any
//! kind of pieces, so that a message goes to the socket in one call, from wherever its parts lie.

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;

use futures::{Stream, StreamExt};
use hyper::body::{Body as HttpBody, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};

use super::connection::Connection;
use crate::options::Limits;

/// What a client may send as one piece: each is a call of the system.
const FRAME_BYTES: u32 = 256 << 10;
/// What may be on its way before the other end has read it.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Answers what comes in until `leave` is cancelled. Then nobody is let in any more, and those that are in end when their calls have.
/// Dropped, it ends them as they are.
pub async fn serve<S, B>(incoming: impl Stream<Item = Connection>, service: S, limits: &Limits, leave: CancellationToken)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static,
    B: HttpBody<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let http = http(limits);
    let mut connections = JoinSet::new();
    {
        let mut incoming = pin!(incoming);
        loop {
            tokio::select! {
                () = leave.cancelled() => break,
                Some(_) = connections.join_next() => {}
                Some(connection) = incoming.next() => {
                    connections.spawn(served(connection, service.clone(), http.clone(), leave.clone()));
                }
            }
        }
    }
    // The port is free now, though calls still run.
    while connections.join_next().await.is_some() {}
}

fn http(limits: &Limits) -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .keep_alive_interval(limits.silence.ping_every)
        .keep_alive_timeout(limits.silence.ping_wait)
        .max_frame_size(FRAME_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(u32::try_from(limits.calls_per_connection_max).unwrap_or(u32::MAX));
    http
}

async fn served<S, B>(connection: Connection, service: S, http: Builder<TokioExecutor>, leave: CancellationToken)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static,
    B: HttpBody<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let peer = connection.peer().clone();
    let address = peer.address;
    let calls = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
        service.clone().call(request)
    });
    let mut serving = pin!(http.serve_connection(TokioIo::new(connection), calls));
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = leave.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %address, "a connection ended: {error}");
    }
}
