//! HTTP connections: few and short, and closed when a request is slow.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::response::{answer, is_quick};
use crate::monitor::Monitor;

/// Enough for a scraper or two, and for some people.
const CONNECTIONS_MAX: usize = 64;
/// The time limit for all headers of a request, counted from the end of the previous request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection is closed after this time in any case: an answer that is not read would hold it for ever.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);
/// The limit for one request line and its headers.
const HEADER_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// The pause after a failed accept: "too many open files" would recur at once.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(50);

/// Accepts connections for ever.
pub async fn accept(listener: TcpListener, monitor: Arc<Monitor>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection for HTTP cannot be taken: {error}");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            tracing::warn!(%peer, "a connection for HTTP is refused: there are {CONNECTIONS_MAX} at once already");
            continue;
        };
        let monitor = Arc::clone(&monitor);
        tokio::spawn(async move {
            let _permit = permit;
            handle_connection(stream, monitor).await;
        });
    }
}

async fn handle_connection(stream: TcpStream, monitor: Arc<Monitor>) {
    let answered = service_fn(move |request| {
        let monitor = Arc::clone(&monitor);
        async move {
            // Metrics look at the whole store, and a request for /health must not wait for them.
            match is_quick(&request) {
                true => Ok(answer(&request, &monitor)),
                false => tokio::task::spawn_blocking(move || answer(&request, &monitor)).await,
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), answered);
    match tokio::time::timeout(CONNECTION_TIMEOUT, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("a connection for HTTP ended: {error}"),
        Err(_) => tracing::debug!("a connection for HTTP was closed after {} s", CONNECTION_TIMEOUT.as_secs()),
    }
}
