//! Connections, and HTTP/2 on them.
//!
//! - [`acceptor`] — accepts connections, a bounded number at once, with TLS if it is configured
//! - [`connection`] — one connection, which ends if HTTP/2 does not begin in time; [`counts`] metrics of connections
//! - [`serve`] — HTTP/2 on each, until it ends
//! - [`request_timeout`] — the timeout for the message of a call; [`deadline`] the client's timeout for the answer
//! - [`request_body`] — checks that the client's stream is complete; [`response_body`] an answer in parts
//! - [`tls`] — certificates and keys from files

mod acceptor;
mod connection;
mod counts;
mod deadline;
mod request_body;
mod request_timeout;
mod response_body;
mod serve;
mod tls;

pub use acceptor::{AcceptOptions, incoming};
pub use connection::Peer;
pub use counts::Connections;
pub use deadline::{wait, within_deadline};
pub use request_body::require_whole_body;
pub use request_timeout::RequestTimeoutService;
pub use response_body::{Answer, Parts};
pub use serve::serve;
pub use tls::{Certificates, TlsError};
