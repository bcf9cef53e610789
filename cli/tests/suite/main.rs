//! Runs the real `quiver` binary, and the unit tests of the modules that need no engine.

mod backup;
mod beside;
mod commands;
mod errors;
mod formats;
mod import;
mod live_backup;
mod pipe;
#[allow(dead_code)]
mod pure;
mod quiver;
mod remote;
mod serve;
mod served;
mod shell;
mod store;
mod substrait;
mod terminal;
mod users;
