//! Why rows cannot be read, for threads that must not create an exception.

use std::fmt;
use std::sync::Arc;

use engine::EngineError;

/// Why rows cannot be read. It is a plain type for threads that must not take Python's lock, because the thread that
/// holds it may be waiting for them.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// Another thread reads them.
    Busy,
    /// An earlier error ended the result.
    Failed(Arc<EngineError>),
    /// The reader was interrupted, and some rows were lost.
    Interrupted,
    ResultClosed,
    ConnectionClosed,
}

impl Refusal {
    /// The hint for the user.
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
