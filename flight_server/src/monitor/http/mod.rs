//! `/health` and `/metrics` over HTTP/1.1, for those who watch the server.
//!
//! - [`response`] — the answer to a request; [`connections`] the connections of clients
//!
//! They have a thread of their own, because an answer matters most when the other threads are busy.
//!
//! Clients are not trusted: connections are few, short and closed when a request is slow, and no body is read.

mod connections;
mod response;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use self::connections::accept;
use crate::monitor::Monitor;

/// The time that an answer may still take when the server ends.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// A bound port, which answers once [`Http::serve`] is called.
pub struct Http {
    listener: std::net::TcpListener,
    address: SocketAddr,
    monitor: Arc<Monitor>,
}

impl Http {
    pub async fn bind(address: SocketAddr, monitor: Arc<Monitor>) -> std::io::Result<Http> {
        // A listener of this runtime would be driven by its threads.
        let listener = TcpListener::bind(address).await?.into_std()?;
        Ok(Http { address: listener.local_addr()?, listener, monitor })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves on a thread of its own, until the result is dropped.
    pub fn serve(self) -> HttpThread {
        let over = CancellationToken::new();
        let until = over.clone();
        let answering = std::thread::Builder::new().name("quiver-http".into()).spawn(move || {
            // One more thread computes the metrics.
            let answered = Builder::new_current_thread().enable_all().max_blocking_threads(1).build().and_then(|runtime| {
                let ended = runtime.block_on(async {
                    let listener = TcpListener::from_std(self.listener)?;
                    tokio::select! {
                        () = until.cancelled() => Ok(()),
                        () = accept(listener, self.monitor) => Ok(()),
                    }
                });
                runtime.shutdown_timeout(LAST_ANSWER);
                ended
            });
            if let Err(error) = answered {
                tracing::error!("health and metrics are not answered: {error}");
            }
        });
        if let Err(error) = &answering {
            tracing::error!("no thread could be started that answers /health and /metrics: {error}");
        }
        HttpThread { over, thread: answering.ok() }
    }
}

/// The thread that answers. Dropping this ends it, and releases its port and its references to the server.
pub struct HttpThread {
    over: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Drop for HttpThread {
    fn drop(&mut self) {
        self.over.cancel();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that answers /health and /metrics ended by a panic");
        }
    }
}
