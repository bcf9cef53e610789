//! The Flight and Flight SQL service over an engine.
//!
//! - [`server`] — answering, and leaving in good order; [`drain`] says that it leaves, [`server_error`] why it does not start
//! - [`options`] — what the server allows; [`config`] how it is set up; [`log`] log lines
//! - [`transport`] — connections, TLS and HTTP/2; [`auth`] who calls
//! - [`service`] — the calls of the protocol, each handed on to one of the modules below
//! - [`sql`] — Flight SQL: statements, prepared statements, transactions, metadata; [`flight`] tables by path, without SQL
//! - [`sessions`] — what a session keeps, and its turns
//! - [`stream`] — batches to messages and back
//! - [`active_streams`] — calls that stream: so many at once, and none that nobody reads; [`named_calls`] those that another call may end
//! - [`executors`] — the threads that plan and run statements
//! - [`handles`] — what clients hold of us: bounded, and forgotten when idle; [`budget`] how much of it
//! - [`monitor`] — health and numbers for operators; [`trace`] spans of calls and statements for a collector
//! - [`error`] — errors of the engine as codes and sentences

// Whether a call may go to another thread is asked of all that it waits for, as deep as plans and syntax trees go.
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
