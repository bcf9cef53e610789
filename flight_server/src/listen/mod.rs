//! Where the server may listen, and what comes in there.
//!
//! - [`incoming`] — connections as they come: so many at once, and through TLS where there is to be some
//! - [`connection`] — one of them, which ends if it does not get as far as HTTP/2
//! - [`serve`] — HTTP/2 on each, until it ends
//! - [`request`] — the one message of a call, which is not waited for without end

mod connection;
mod incoming;
mod request;
mod serve;

use std::net::SocketAddr;
use std::time::Duration;

use crate::server::ServerError;

pub use connection::Peer;
pub use incoming::{Door, incoming};
pub use request::Received;
pub use serve::serve;

/// How long a client may say nothing before it is taken for gone.
#[derive(Debug, Clone)]
pub struct Silence {
    /// From connecting to the first bytes of HTTP/2, with TLS's handshake: who does not get so far would hold a place for nothing.
    pub greeting: Duration,
    /// On a connection where nothing came for so long it is asked whether somebody is there.
    pub ping_every: Duration,
    /// How long an answer to that may take. Clients answer by themselves, whether or not they have anything to do.
    pub ping_wait: Duration,
    /// Between two pieces of a request that is one message.
    pub request: Duration,
    /// For all pieces of it.
    pub whole_request: Duration,
}

impl Default for Silence {
    fn default() -> Self {
        Silence {
            greeting: Duration::from_secs(20),
            ping_every: Duration::from_secs(30),
            ping_wait: Duration::from_secs(20),
            request: Duration::from_secs(30),
            whole_request: Duration::from_secs(10 * 60),
        }
    }
}

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
