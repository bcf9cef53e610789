//! The Flight and Flight SQL service over an engine.
//!
//! - [`server`] — serving and shutting down; [`drain`] the state of the shutdown, [`server_error`] errors of the start
//! - [`options`] — the limits of the server; [`config`] its configuration; [`log`] log lines
//! - [`transport`] — connections, TLS and HTTP/2; [`auth`] authentication
//! - [`service`] — the calls of the protocol, each dispatched to one of the modules below
//! - [`sql`] — Flight SQL: statements, prepared statements, transactions, metadata; [`flight`] tables by path, without SQL
//! - [`sessions`] — the sessions of clients, whose statements take turns
//! - [`stream`] — batches to messages and back
//! - [`active_streams`] — streaming calls, bounded in number and time; [`named_calls`] calls that can be cancelled by name
//! - [`executors`] — the threads that plan and run statements
//! - [`handles`] — objects that clients hold: bounded, and dropped when idle; [`budget`] bounds their memory
//! - [`monitor`] — health and metrics for operators; [`trace`] spans of calls and statements for a collector
//! - [`error`] — errors of the engine as status codes and messages

// To check that a call is `Send`, the compiler walks all types that it awaits, as deep as plans and syntax trees nest.
#![recursion_limit = "256"]

mod active_streams;
mod auth;
mod budget;
pub mod config;
mod drain;
mod error;
mod executors;
mod flight;
mod handles;
mod log;
mod monitor;
mod named_calls;
mod options;
mod server;
mod server_error;
mod service;
mod sessions;
mod sql;
mod stream;
#[cfg(feature = "otlp")]
mod trace;
#[cfg(not(feature = "otlp"))]
#[path = "trace/noop.rs"]
mod trace;
mod transport;

pub use auth::{TokenError, token_for};
pub use log::{LogOptions, log_to_stderr};
pub use options::{HandOff, IdleTimeouts, Limits, LoginOptions, ServerOptions, TlsOptions};
pub use server::Server;
pub use server_error::ServerError;
pub use transport::{Certificates, TlsError};
