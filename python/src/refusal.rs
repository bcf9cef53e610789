//! Why there are no rows to be had, for threads that may not make an exception.

use std::fmt;
use std::sync::Arc;

use engine::EngineError;

/// Why there are no rows to be had. Plain: threads are told so that must not ask for Python's lock, because the one that
/// holds it may be waiting for them.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// Another thread reads them.
    Busy,
    /// An error broke them off before.
    Failed(Arc<EngineError>),
    /// Whoever read them was interrupted, and has lost some.
    Interrupted,
    ResultClosed,
    ConnectionClosed,
}

impl Refusal {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Refusal::Busy => Some("read them in one thread"),
            Refusal::Failed(error) => error.hint(),
            Refusal::Interrupted | Refusal::ResultClosed => Some("run the query again"),
            Refusal::ConnectionClosed => Some("open it again"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Busy => f.write_str("another thread is reading these rows"),
            Refusal::Failed(error) => error.fmt(f),
            Refusal::Interrupted => f.write_str("reading these rows was interrupted"),
            Refusal::ResultClosed => f.write_str("the result is closed"),
            Refusal::ConnectionClosed => f.write_str("the connection is closed"),
        }
    }
}
