//! The audit record of a user's statement while its outcome is not yet known.

use std::fmt;
use std::sync::Arc;

use super::table::AuditRow;
use super::writer::AuditWriter;
use crate::queries::{Outcome, Query, StatementKind, StatementRecord, hides_something};
use common::error::EngineError;
use common::error::kind::ErrorKind;

/// Longer messages are truncated.
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Messages of the parser quote the statement.
const WITHHELD: &str = "the message is not kept: it may have the password in it";

/// What only the caller knows about the end of a statement.
pub struct Audited {
    audit: Arc<AuditWriter>,
    message: Option<String>,
    /// The message may quote the statement.
    quotes_statement: bool,
    /// The number of changed rows, if it is known.
    changed: Option<u64>,
}

impl fmt::Debug for Audited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audited").field("message", &self.message).finish_non_exhaustive()
    }
}

impl Audited {
    pub fn new(audit: &Arc<AuditWriter>) -> Audited {
        Audited { audit: Arc::clone(audit), message: None, quotes_statement: false, changed: None }
    }
}

impl StatementRecord for Audited {
    fn failed(&mut self, error: &EngineError) {
        self.message = Some(cut(&error.to_string(), MESSAGE_BYTES_MAX));
        self.quotes_statement =
            !matches!(error.kind(), ErrorKind::Denied | ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NotAllowed);
    }

    fn changed(&mut self, rows: u64) {
        self.changed = Some(rows);
    }

    fn end(self: Box<Self>, query: &Query, outcome: Outcome) {
        // A write yields one row, which has the number of changed rows.
        let rows = match query.kind() {
            Some(StatementKind::Query) => Some(query.rows_returned()),
            Some(StatementKind::Write) => self.changed,
            _ => None,
        };
        let statement = query.text.stored_text();
        let message = match hides_something(&statement) && self.quotes_statement {
            true => self.message.map(|_| WITHHELD.to_string()),
            false => self.message,
        };
        self.audit.keep(AuditRow {
            time_ms: query.started_at_ms,
            user: Arc::clone(query.principal.name()),
            session_id: query.session,
            statement,
            kind: query.kind().map(|kind| kind.name()),
            outcome: outcome_name(outcome),
            message,
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

/// Truncates a text, and says so at its end.
pub fn cut(text: &str, bytes_max: usize) -> String {
    let beginning = &text[..text.floor_char_boundary(bytes_max)];
    let mark = if beginning.len() < text.len() { "…" } else { "" };
    format!("{beginning}{mark}")
}
