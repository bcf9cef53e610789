//! The client: a session on a server, for the shell and for nodes.
//!
//! - [`address`] — the address of the server; [`options`] how to connect, and as which user
//! - [`connect`] — the channel, the login and the session; [`link`] the calls over it
//! - [`session`] — statements, and reconnecting after a break; [`connection_state`] notices a break, [`session_state`] knows what it loses
//! - [`output`] — the result of a statement, as a stream
//! - [`ingest`] — rows into a table of the server; [`plans`] — Substrait, in both directions
//! - [`listing`] — the tables, columns and functions of the server
//! - [`node`] — a server as a node that runs parts of plans and hands out tables; [`network`] all of them, by [`location`]
//! - [`error`] — errors, in the parts that a shell shows

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
