//! Connections as they come: so many at once, and through TLS where there is to be some.

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
use super::counts::{Connections, Place, Refusal};
use super::tls::Certificates;

/// After an error of accepting, of which "too many open files" is one that comes again at once.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(50);

/// Who is let in, and how.
pub struct Door {
    pub connections_max: usize,
    /// For TLS's handshake and the beginning of HTTP/2 together.
    pub greeting: Duration,
    pub certificates: Option<Certificates>,
    pub counts: Connections,
}

/// A client on TCP, of whom nothing is known yet.
struct Caller {
    stream: TcpStream,
    address: SocketAddr,
    place: Place,
    until: Instant,
}

/// The connections, each when it is ready to speak HTTP/2.
pub fn incoming(listener: TcpListener, door: Door) -> impl Stream<Item = Connection> {
    let places = Arc::new(Semaphore::new(door.connections_max));
    let hall = Hall { listener, door, places, handshakes: JoinSet::new() };
    futures::stream::unfold(hall, |mut hall| async move { Some((hall.next().await, hall)) })
}

struct Hall {
    listener: TcpListener,
    door: Door,
    places: Arc<Semaphore>,
    /// Beside each other, on all threads; each has a place, so there are no more than those.
    handshakes: JoinSet<Option<Connection>>,
}

impl Hall {
    async fn next(&mut self) -> Connection {
        let Hall { listener, door, places, handshakes } = self;
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

async fn accept(listener: &TcpListener, door: &Door, places: &Arc<Semaphore>) -> Caller {
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
            door.counts.refused(Refusal::TooMany);
            tracing::warn!(peer = %address, "a connection is refused: there are {} at once already", door.connections_max);
            continue;
        };
        door.counts.accepted();
        let place = Place::new(door.counts.clone(), permit);
        // Without it small answers wait for others; the connection works all the same.
        let _ = stream.set_nodelay(true);
        return Caller { stream, address, place, until: Instant::now() + door.greeting };
    }
}

fn plain(caller: Caller) -> Connection {
    let Caller { stream, address, place, until } = caller;
    Connection::new(Box::new(stream), Peer { address, certificates: None, cut: CancellationToken::new() }, place, until)
}

/// None where the client and the server did not come to terms, or not in time.
async fn secured(caller: Caller, config: Arc<ServerConfig>) -> Option<Connection> {
    let Caller { stream, address, place, until } = caller;
    match timeout_at(until, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => {
            let certificates = stream.get_ref().1.peer_certificates().map(|shown| Arc::new(shown.to_vec()));
            Some(Connection::new(Box::new(stream), Peer { address, certificates, cut: CancellationToken::new() }, place, until))
        }
        Ok(Err(error)) => {
            place.counts().refused(Refusal::Tls);
            tracing::info!(peer = %address, "a connection is closed: TLS came to nothing: {error}");
            None
        }
        Err(_) => {
            place.counts().refused(Refusal::Silent);
            tracing::info!(peer = %address, "a connection is closed: TLS's handshake has not come to its end");
            None
        }
    }
}
