//! Requests between processes, for what only the process that has a store open for writing can do.
//!
//! `ask` is the side of the client, `server` the thread of the writing process; `lease` opens a store to read it beside that process.

mod ask;
mod lease;
mod server;

pub(crate) use ask::{AskError, Outcome, ask};
pub(crate) use lease::open_to_read;
pub(crate) use server::Listener;
