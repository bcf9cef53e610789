//! A connection, with its permit among the allowed connections.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::counts::{ConnectionPermit, RejectReason};

/// The HTTP/2 preface, "PRI * HTTP/2.0…". Once a client has sent it, pings check whether the client is alive.
const PREFACE_BYTES: usize = 24;

/// The peer of a connection. Each call of the connection carries it.
#[derive(Debug, Clone)]
pub struct Peer {
    pub address: SocketAddr,
    /// Certificates that are verified against the authority of client certificates. The client's own comes first.
    pub certificates: Option<Arc<Vec<CertificateDer<'static>>>>,
    /// Cancelling it closes the connection.
    pub cut: CancellationToken,
}

/// TCP, or TLS over it.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

pub struct Connection {
    stream: Box<dyn Transport>,
    peer: Peer,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The deadline for the beginning of HTTP/2; `None` after it.
    greeting: Option<HandshakeTimer>,
    place: ConnectionPermit,
}

struct HandshakeTimer {
    until: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl Connection {
    /// A connection that ends if HTTP/2 has not begun at `until`.
    pub fn new(stream: Box<dyn Transport>, peer: Peer, place: ConnectionPermit, until: Instant) -> Connection {
        let greeting = HandshakeTimer { until: Box::pin(tokio::time::sleep_until(until)), bytes_left: PREFACE_BYTES };
        let cut = Box::pin(peer.cut.clone().cancelled_owned());
        Connection { stream, peer, cut, greeting: Some(greeting), place }
    }

    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Ends a pending read or write when the connection is cut. Both directions check it: HTTP/2 does not read while it cannot write.
    fn unless_cut<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() && self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        polled
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = self.unless_cut(read, context);
        let Some(greeting) = &mut self.greeting else { return read };
        if read.is_pending() {
            ready!(greeting.until.as_mut().poll(context));
            self.greeting = None;
            self.place.counts().refused(RejectReason::Silent);
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
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_cut(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_cut(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.unless_cut(shut, context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.unless_cut(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
