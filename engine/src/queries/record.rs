//! What is kept of a statement beyond its end.

use std::fmt;

use super::query::Query;
use super::totals::Outcome;
use common::error::EngineError;

/// The record of one statement, which the audit keeps of those of users. It is told what the statement itself does not know of its end.
pub trait StatementRecord: fmt::Debug + Send + Sync {
    /// How many rows a write has changed.
    fn changed(&mut self, rows: u64);

    /// Records the error for the audit. It comes before `end`.
    fn failed(&mut self, error: &EngineError);

    fn end(self: Box<Self>, query: &Query, outcome: Outcome);
}
