//! Errors of starting a server.

use std::net::SocketAddr;

use crate::transport::TlsError;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(
        "other machines can reach {0}, and there is no TLS: give --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1, or say --insecure"
    )]
    NoTls(SocketAddr),
    #[error(
        "other machines can reach {0}, and the store has no user: make one with quiver user add NAME --admin --store DIR, or listen on 127.0.0.1, or say --insecure"
    )]
    NoUsers(SocketAddr),
    #[error(
        "other machines can reach {0}, and there are no TLS and no users: give --tls-cert FILE and --tls-key FILE and make a user \
         with quiver user add NAME --admin --store DIR, or listen on 127.0.0.1, or say --insecure"
    )]
    NoTlsAndNoUsers(SocketAddr),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{0} is not an address of this machine alone, and HTTP has no TLS and no users: let it listen on 127.0.0.1 or [::1]")]
    HttpNotLoopback(SocketAddr),
    #[error("this build has no OTLP: leave out --otlp-endpoint and otlp_endpoint, or build quiver with the feature otlp")]
    NoOtlp,
    #[error("traces cannot be sent to {endpoint}: {reason}; give --otlp-endpoint the address of a collector such as http://127.0.0.1:4317")]
    Otlp { endpoint: String, reason: String },
    #[error("cannot listen on {address}: {source}; choose another port, or 0 for any that is free")]
    Listen { address: SocketAddr, source: std::io::Error },
}
