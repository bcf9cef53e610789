//! The other end: a session on a server, for programs of ours that show what comes of SQL.
//!
//! - [`address`] — where the server is; [`options`] how it is reached, and who one is there
//! - [`connect`] — the channel, the login, the session; [`link`] the calls that are made over it
//! - [`session`] — statements, and connecting again after a break; [`connection_state`] what notices one, [`session_state`] what is lost by it
//! - [`output`] — the result of a statement as it comes
//! - [`ingest`] — rows into a table there; [`plans`] — Substrait, in both directions
//! - [`listing`] — what there is on the server
//! - [`node`] — a server as a node that runs parts of plans and hands out tables; [`network`] all of them, by [`location`]
//! - [`error`] — what went wrong, in the parts that a shell shows

mod address;
mod connect;
mod connection_state;
mod error;
mod ingest;
mod link;
mod listing;
mod location;
mod network;
mod node;
mod options;
mod output;
mod plans;
mod session;
mod session_state;

pub use address::{Address, BadAddress};
pub use error::RemoteError;
pub use ingest::IngestError;
pub use location::{BadLocation, Location};
pub use network::{Credentials, FlightNodes, remote_tables};
pub use node::FlightNode;
pub use options::{ConnectOptions, Login, Tls};
pub use output::RemoteOutput;
pub use session::RemoteSession;
