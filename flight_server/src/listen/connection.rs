//! A connection, with its place among those that may be.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tonic::transport::server::Connected;

use super::incoming::Place;
use crate::monitor::Refusal;

/// "PRI * HTTP/2.0" and what belongs to it. Whoever has sent so much is asked by pings whether he is there.
const PREFACE_BYTES: usize = 24;

/// Who is at the other end; each call of the connection carries it.
#[derive(Debug, Clone)]
pub struct Peer {
    pub address: SocketAddr,
    /// Verified against the authority of client certificates; the client's own comes first.
    pub certificates: Option<Arc<Vec<CertificateDer<'static>>>>,
}

/// TCP, or TLS over it.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

pub struct Connection {
    stream: Box<dyn Transport>,
    peer: Peer,
    /// Until HTTP/2 has begun.
    greeting: Option<Greeting>,
    place: Place,
}

struct Greeting {
    until: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl Connection {
    /// One that ends if HTTP/2 has not begun at `until`.
    pub fn new(stream: Box<dyn Transport>, peer: Peer, place: Place, until: Instant) -> Connection {
        let greeting = Greeting { until: Box::pin(tokio::time::sleep_until(until)), bytes_left: PREFACE_BYTES };
        Connection { stream, peer, greeting: Some(greeting), place }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(greeting) = &mut self.greeting else { return read };
        if read.is_pending() {
            ready!(greeting.until.as_mut().poll(context));
            self.greeting = None;
            self.place.counts().refused(Refusal::Silent);
            tracing::info!(peer = %self.peer.address, "a connection is closed: it has not begun to speak HTTP/2");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        greeting.bytes_left = greeting.bytes_left.saturating_sub(buffer.filled().len() - before);
        if greeting.bytes_left == 0 {
            self.greeting = None;
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
