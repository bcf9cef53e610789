//! Reports a statement that has ended: to observers, and to the log if it was slow.

use super::kind::StatementKind;
use super::text::Text;
use common::error::EngineError;
use common::error::kind::ErrorKind;

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed(ErrorKind),
    /// By KILL.
    Killed,
    /// By a time limit: its own, or that of the admission queue.
    TimedOut,
    /// The client did not want the rest of it.
    Cancelled,
}

impl Outcome {
    pub(crate) fn of(error: &EngineError) -> Outcome {
        match error {
            EngineError::Killed => Outcome::Killed,
            EngineError::TimedOut { .. } | EngineError::QueueTimedOut { .. } => Outcome::TimedOut,
            EngineError::Cancelled => Outcome::Cancelled,
            error => Outcome::Failed(error.kind()),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Killed => "killed",
            Outcome::TimedOut => "timed_out",
            Outcome::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone)]
pub struct StatementEnd<'a> {
    pub query_id: u64,
    pub session_id: u64,
    pub user: &'a str,
    /// Displayed as in `system.queries`.
    pub text: &'a Text,
    /// `None` if the statement ended before its kind was known.
    pub kind: Option<StatementKind>,
    pub outcome: Outcome,
    pub elapsed_ms: f64,
    pub queued_ms: u64,
    pub rows_returned: u64,
    pub bytes_touched: u64,
    pub bytes_returned: u64,
    pub peak_memory_bytes: u64,
}
