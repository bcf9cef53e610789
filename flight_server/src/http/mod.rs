//! `/health` and `/metrics` over HTTP/1.1, for those who watch the server.
//!
//! - [`answer`] — what is said to which request
//!
//! They have a thread of their own: whoever asks how a server does wants an answer above all when its threads are busy.
//!
//! Whoever connects is not trusted: connections are few, short and closed when a request is slow to come, and no body is read.

mod answer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::monitor::Monitor;

/// A watcher or two, and some room for people.
const CONNECTIONS_MAX: usize = 64;
/// For all headers of a request, from the end of the one before.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection is closed after so long, whatever it does: an answer that is not read would hold it for ever.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);
/// Of one request line and its headers.
const HEADER_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// After an error of accepting, of which "too many open files" comes again at once.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(50);

/// A port that answers once [`Http::serve`] is called.
pub struct Http {
    listener: std::net::TcpListener,
    address: SocketAddr,
    monitor: Arc<Monitor>,
}

impl Http {
    pub async fn bind(address: SocketAddr, monitor: Arc<Monitor>) -> std::io::Result<Http> {
        // That of this runtime would be woken by its threads.
        let listener = TcpListener::bind(address).await?.into_std()?;
        Ok(Http { address: listener.local_addr()?, listener, monitor })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// On a thread of its own, until the result is dropped.
    pub fn serve(self) -> Answering {
        let over = CancellationToken::new();
        let until = over.clone();
        let answering = std::thread::Builder::new().name("quiver-http".into()).spawn(move || {
            let answered = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
                runtime.block_on(async {
                    let listener = TcpListener::from_std(self.listener)?;
                    tokio::select! {
                        () = until.cancelled() => Ok(()),
                        () = accept(listener, self.monitor) => Ok(()),
                    }
                })
            });
            if let Err(error) = answered {
                tracing::error!("health and metrics are not answered: {error}");
            }
        });
        if let Err(error) = &answering {
            tracing::error!("no thread could be started that answers /health and /metrics: {error}");
        }
        Answering { over, thread: answering.ok() }
    }
}

/// The thread that answers. When this is gone, so is that, and its port and what it held of the server are free.
pub struct Answering {
    over: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.over.cancel();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that answers /health and /metrics ended by a panic");
        }
    }
}

async fn accept(listener: TcpListener, monitor: Arc<Monitor>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection for HTTP cannot be taken: {error}");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!(%peer, "a connection for HTTP is refused: there are {CONNECTIONS_MAX} at once already");
            continue;
        };
        let monitor = Arc::clone(&monitor);
        tokio::spawn(async move {
            let _place = place;
            converse(stream, monitor).await;
        });
    }
}

async fn converse(stream: TcpStream, monitor: Arc<Monitor>) {
    let answered = service_fn(move |request| {
        let monitor = Arc::clone(&monitor);
        async move { Ok::<_, std::convert::Infallible>(answer::answer(&request, &monitor)) }
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
