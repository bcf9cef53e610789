//! Accepts connections, a bounded number at once, with TLS if it is configured.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Peer};
use super::counts::{ConnectionPermit, Connections, RejectReason};
use super::tls::Certificates;

/// The pause after a failed accept: "too many open files" would recur at once.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(50);

/// Which connections are accepted, and how.
pub struct AcceptOptions {
    pub connections_max: usize,
    /// The time limit for the TLS handshake and the beginning of HTTP/2 together.
    pub greeting: Duration,
    pub certificates: Option<Certificates>,
    pub counts: Connections,
}

/// A TCP connection before its TLS handshake.
struct PendingConnection {
    stream: TcpStream,
    address: SocketAddr,
    place: ConnectionPermit,
    until: Instant,
}

/// The connections, each when it is ready to speak HTTP/2.
pub fn incoming(listener: TcpListener, door: AcceptOptions) -> impl Stream<Item = Connection> {
    let places = Arc::new(Semaphore::new(door.connections_max));
    let hall = Acceptor { listener, door, places, handshakes: JoinSet::new() };
    futures::stream::unfold(hall, |mut hall| async move { Some((hall.next().await, hall)) })
}

struct Acceptor {
    listener: TcpListener,
    door: AcceptOptions,
    places: Arc<Semaphore>,
    /// Handshakes run concurrently on all threads. Each holds a connection permit, which bounds their number.
    handshakes: JoinSet<Option<Connection>>,
}

impl Acceptor {
    async fn next(&mut self) -> Connection {
        let Acceptor { listener, door, places, handshakes } = self;
        loop {
            tokio::select! {
                caller = accept(listener, door, places) => match &door.certificates {
                    None => return plain(caller),
                    Some(certificates) => drop(handshakes.spawn(secured(caller, certificates.config()))),
                },
                Some(ended) = handshakes.join_next() => {
                    if let Ok(Some(connection)) = ended {
                        return connection;
                    }
                }
            }
        }
    }
}

async fn accept(listener: &TcpListener, door: &AcceptOptions, places: &Arc<Semaphore>) -> PendingConnection {
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection cannot be taken: {error}");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(places).try_acquire_owned() else {
            door.counts.refused(RejectReason::TooMany);
            tracing::warn!(peer = %address, "a connection is refused: there are {} at once already", door.connections_max);
            continue;
        };
        door.counts.accepted();
        let place = ConnectionPermit::new(door.counts.clone(), permit);
        // Without TCP_NODELAY, small answers are delayed, but the connection works.
        let _ = stream.set_nodelay(true);
        return PendingConnection { stream, address, place, until: Instant::now() + door.greeting };
    }
}

fn plain(caller: PendingConnection) -> Connection {
    let PendingConnection { stream, address, place, until } = caller;
    Connection::new(Box::new(stream), Peer { address, certificates: None, cut: CancellationToken::new() }, place, until)
}

/// `None` if the TLS handshake fails, or takes too long.
async fn secured(caller: PendingConnection, config: Arc<ServerConfig>) -> Option<Connection> {
    let PendingConnection { stream, address, place, until } = caller;
    match timeout_at(until, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => {
            let certificates = stream.get_ref().1.peer_certificates().map(|shown| Arc::new(shown.to_vec()));
            Some(Connection::new(Box::new(stream), Peer { address, certificates, cut: CancellationToken::new() }, place, until))
        }
        Ok(Err(error)) => {
            place.counts().refused(RejectReason::Tls);
            tracing::info!(peer = %address, "a connection is closed: TLS came to nothing: {error}");
            None
        }
        Err(_) => {
            place.counts().refused(RejectReason::Silent);
            tracing::info!(peer = %address, "a connection is closed: TLS's handshake has not come to its end");
            None
        }
    }
}
