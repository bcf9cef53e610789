//! Runs the real `quiver` binary, and the unit tests of the modules that need no engine.

mod backup;
mod errors;
mod formats;
mod import;
mod pipe;
#[allow(dead_code)]
mod pure;
mod quiver;
mod shell;
mod store;
mod terminal;
