//! The Flight and Flight SQL service over an engine.
//!
//! - [`server`] — answering, and leaving in good order; [`options`] what it allows; [`config`] how it is set up
//! - [`listen`] — where it may listen, and connections; [`tls`] their certificates; [`auth`] who calls
//! - [`service`] — the calls of the protocol, each handed on to one of the rooms below
//! - [`sessions`] — what a session keeps; [`connection`] one engine session and its turns
//! - [`statements`] — SQL and plans that run once, and the tickets of results; [`prepared`]; [`transactions`]
//! - [`metadata`] — catalogs, schemas, tables, types, what the server can do
//! - [`ingest`] — rows in; [`flight`] — tables by path, without SQL
//! - [`stream`] — batches to messages and back
//! - [`running`] — calls that stream: so many at once, and none that nobody reads; [`named_calls`] those that another call may end
//! - [`client`] — the other end, for programs of ours
//! - [`executors`] — the threads that plan and run statements
//! - [`monitor`] — health and numbers, which [`http`] answers with, and traces
//! - [`handles`] — what clients hold of us: bounded, and forgotten when idle; [`budget`] how much of it

// Whether a call may go to another thread is asked of all that it waits for, as deep as plans and syntax trees go.
#![recursion_limit = "256"]

mod auth;
mod budget;
pub mod client;
pub mod config;
mod connection;
mod error;
mod error_details;
mod executors;
mod flight;
mod guard;
mod handles;
mod http;
mod ingest;
mod listen;
mod log;
mod metadata;
mod monitor;
mod named_calls;
mod options;
mod prepared;
mod running;
mod server;
mod service;
mod sessions;
mod statements;
mod stream;
mod tls;
mod transactions;

pub use auth::{LoginOptions, TokenError, token_for};
pub use listen::Silence;
pub use log::{LogOptions, log_to_stderr};
pub use options::{HandOff, Limits, ServerOptions};
pub use server::{Server, ServerError};
pub use tls::{Certificates, TlsError, TlsOptions};
