//! Serves HTTP/2 on incoming connections.
//!
//! tonic's own server takes answers whose pieces are contiguous bytes, and sends each by itself. Here an answer may have any
//! type of `Buf`, so that a message goes to the socket in one vectored write, from wherever its parts are.

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

/// The largest frame of a client: each costs a system call.
const FRAME_BYTES: u32 = 256 << 10;
/// The flow-control windows.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Serves until `leave` is cancelled. Then it accepts no more connections, and the open ones end when their calls have ended.
/// Dropping it ends them at once.
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
    // This frees the port while calls still run.
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
