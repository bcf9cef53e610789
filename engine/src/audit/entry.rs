//! A statement of a user, until it is known what came of it.

use std::fmt;
use std::sync::Arc;

use super::keeper::Audit;
use super::table::AuditRow;
use crate::error::EngineError;
use crate::output::StatementKind;
use crate::queries::{Outcome, Query};

/// More of a message is cut off.
const MESSAGE_BYTES_MAX: usize = 2_000;

/// What the statement itself does not know of its end.
pub struct Audited {
    audit: Arc<Audit>,
    message: Option<String>,
    /// Rows that were changed, where that is known.
    changed: Option<u64>,
}

impl fmt::Debug for Audited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audited").field("message", &self.message).finish_non_exhaustive()
    }
}

impl Audited {
    pub fn new(audit: &Arc<Audit>) -> Audited {
        Audited { audit: Arc::clone(audit), message: None, changed: None }
    }

    pub fn failed(&mut self, error: &EngineError) {
        self.message = Some(cut(&error.to_string(), MESSAGE_BYTES_MAX));
    }

    pub fn changed(&mut self, rows: u64) {
        self.changed = Some(rows);
    }

    pub fn end(self, query: &Query, outcome: Outcome) {
        // A write gives one row, which says how many it changed.
        let rows = match query.kind() {
            Some(StatementKind::Query) => Some(query.rows_returned()),
            Some(StatementKind::Write) => self.changed,
            _ => None,
        };
        self.audit.keep(AuditRow {
            time_ms: query.started_at_ms,
            user: Arc::clone(query.whose.name()),
            session_id: query.session,
            statement: query.text.kept(),
            kind: query.kind().map(|kind| kind.name()),
            outcome: outcome_name(outcome),
            message: self.message,
            rows,
            duration_ms: query.started.elapsed().as_secs_f64() * 1e3,
            bytes_touched: query.bytes_touched(),
            bytes_returned: query.bytes_returned(),
        });
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "ok",
        Outcome::Failed(kind) => kind.name(),
        Outcome::Killed | Outcome::TimedOut | Outcome::Cancelled => outcome.name(),
    }
}

/// What is cut says so.
pub fn cut(text: &str, bytes_max: usize) -> String {
    let beginning = &text[..text.floor_char_boundary(bytes_max)];
    let mark = if beginning.len() < text.len() { "…" } else { "" };
    format!("{beginning}{mark}")
}
