//! Where the server may listen, and the connections that come in: so many at once, and none that never says a word.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tonic::transport::server::{Connected, TcpConnectInfo};

use crate::server::ServerError;

/// What other machines can reach is secured and asks who calls, unless the operator says in words that he wants it open.
pub fn check_address(address: SocketAddr, has_tls: bool, has_users: bool, insecure: bool) -> Result<(), ServerError> {
    let is_reachable = !address.ip().to_canonical().is_loopback();
    match (has_tls, has_users) {
        _ if !is_reachable || insecure => Ok(()),
        (true, true) => Ok(()),
        (false, true) => Err(ServerError::NoTls(address)),
        (true, false) => Err(ServerError::NoUsers(address)),
        (false, false) => Err(ServerError::NoTlsAndNoUsers(address)),
    }
}

/// A client that has sent nothing for so long after connecting is cut off: it would hold a place for nothing.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(30);
/// After an error of accepting, of which "too many open files" is one that comes again at once.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(50);

/// The connections, as they come.
pub fn incoming(listener: TcpListener, connections_max: usize) -> impl Stream<Item = io::Result<Connection>> {
    let places = Arc::new(Semaphore::new(connections_max));
    futures::stream::unfold((listener, places), move |(listener, places)| async move {
        let connection = accept(&listener, &places, connections_max).await;
        Some((Ok(connection), (listener, places)))
    })
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>, connections_max: usize) -> Connection {
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection cannot be taken: {error}");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(places).try_acquire_owned() else {
            tracing::warn!(%peer, "a connection is refused: there are {connections_max} at once already");
            continue;
        };
        // Without it small answers wait for others; the connection works all the same.
        let _ = stream.set_nodelay(true);
        return Connection { stream, patience: Some(Box::pin(tokio::time::sleep(FIRST_BYTE_TIMEOUT))), _place: place };
    }
}

/// A connection with its place among those that may be.
pub struct Connection {
    stream: TcpStream,
    /// Until the first bytes have come.
    patience: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        match (&read, &mut self.patience) {
            (_, None) => read,
            (Poll::Ready(_), patience) => {
                *patience = None;
                read
            }
            (Poll::Pending, Some(patience)) => match patience.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                Poll::Pending => Poll::Pending,
            },
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_secured_is_reachable() {
        let (inside, outside) = ("127.0.0.1:1".parse().unwrap(), "0.0.0.0:1".parse().unwrap());
        check_address(inside, false, false, false).unwrap();
        check_address("[::1]:1".parse().unwrap(), false, true, false).unwrap();
        check_address("[::ffff:127.0.0.1]:1".parse().unwrap(), false, true, false).unwrap();
        check_address(outside, true, true, false).unwrap();
        check_address(outside, false, false, true).unwrap();
        assert!(matches!(check_address(outside, false, true, false), Err(ServerError::NoTls(_))));
        assert!(matches!(check_address(outside, true, false, false), Err(ServerError::NoUsers(_))));
        assert!(matches!(check_address("[::]:1".parse().unwrap(), false, false, false), Err(ServerError::NoTlsAndNoUsers(_))));
    }
}
