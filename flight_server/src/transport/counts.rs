//! Metrics of client connections.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::OwnedSemaphorePermit;

#[derive(Clone, Default)]
pub struct Connections {
    open: Gauge,
    accepted: Counter,
    refused: Family<[(&'static str, &'static str); 1], Counter>,
}

/// Why a connection was refused.
#[derive(Debug, Clone, Copy)]
pub enum RejectReason {
    /// The limit of connections was reached.
    TooMany,
    /// The TLS handshake failed: a client without TLS, one that does not trust the server, or one with an unacceptable certificate.
    Tls,
    /// The client did not begin HTTP/2 in time.
    Silent,
}

impl RejectReason {
    fn reason(self) -> &'static str {
        match self {
            RejectReason::TooMany => "too_many",
            RejectReason::Tls => "tls",
            RejectReason::Silent => "silent",
        }
    }
}

impl Connections {
    pub fn registered(registry: &mut Registry) -> Connections {
        let connections = Connections::default();
        // Exported from the start, so that a rise from 0 is visible.
        for refusal in [RejectReason::TooMany, RejectReason::Tls, RejectReason::Silent] {
            drop(connections.refused.get_or_create(&[("reason", refusal.reason())]));
        }
        registry.register("connections", "Connections of clients that are open", connections.open.clone());
        registry.register("connections_accepted", "Connections of clients that were given a place", connections.accepted.clone());
        registry.register("connections_refused", "Connections that came to nothing, by reason", connections.refused.clone());
        connections
    }

    pub fn accepted(&self) {
        self.accepted.inc();
        self.open.inc();
    }

    pub fn closed(&self) {
        self.open.dec();
    }

    pub fn refused(&self, refusal: RejectReason) {
        self.refused.get_or_create(&[("reason", refusal.reason())]).inc();
    }
}

/// Counts one open connection until it is dropped.
pub struct ConnectionPermit {
    counts: Connections,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPermit {
    pub fn new(counts: Connections, permit: OwnedSemaphorePermit) -> ConnectionPermit {
        ConnectionPermit { counts, _permit: permit }
    }

    pub fn counts(&self) -> &Connections {
        &self.counts
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.counts.closed();
    }
}
