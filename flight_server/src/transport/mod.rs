//! Connections, and HTTP/2 on them.
//!
//! - [`acceptor`] — connections as they come: so many at once, and through TLS where there is to be some
//! - [`connection`] — one of them, which ends if it does not get as far as HTTP/2; [`counts`] how many come and go
//! - [`serve`] — HTTP/2 on each, until it ends
//! - [`request_timeout`] — the one message of a call, which is not waited for without end; [`deadline`] how long a client waits for an answer
//! - [`request_body`] — whether what a client sends came to its end; [`response_body`] an answer in parts
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
