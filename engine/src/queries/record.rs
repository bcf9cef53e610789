//! What is kept of a statement after its end.

use std::fmt;

use super::query::Query;
use super::totals::Outcome;
use common::error::EngineError;

/// The audit's record of a user's statement. It receives what the statement itself does not know about its end.
pub trait StatementRecord: fmt::Debug + Send + Sync {
    /// How many rows a write has changed.
    fn changed(&mut self, rows: u64);

    /// Records the error for the audit. It comes before `end`.
    fn failed(&mut self, error: &EngineError);

    fn end(self: Box<Self>, query: &Query, outcome: Outcome);
}
