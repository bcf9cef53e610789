//! A statement of a user, until it is known what came of it.

use std::fmt;
use std::sync::Arc;

use super::keeper::Audit;
use super::table::AuditRow;
use crate::access::redacted;
use crate::error::EngineError;
use crate::error_kind::ErrorKind;
use crate::output::StatementKind;
use crate::queries::{Outcome, Query};

/// More of a statement's text is cut off.
const STATEMENT_BYTES_MAX: usize = 10_000;
/// The same for messages.
const MESSAGE_BYTES_MAX: usize = 2_000;

pub struct Audited {
    audit: Arc<Audit>,
    statement: String,
    message: Option<String>,
    /// Rows that were changed, where that is known.
    changed: Option<u64>,
}

impl fmt::Debug for Audited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audited").field("statement", &self.statement).finish_non_exhaustive()
    }
}

impl Audited {
    pub fn new(audit: &Arc<Audit>, statement: &str) -> Audited {
        let statement = redacted(cut(statement, STATEMENT_BYTES_MAX)).into_owned();
        Audited { audit: Arc::clone(audit), statement, message: None, changed: None }
    }

    pub fn failed(&mut self, error: &EngineError) {
        self.message = Some(cut(&error.to_string(), MESSAGE_BYTES_MAX).to_string());
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
            user: query.user.to_string(),
            session_id: query.session,
            statement: self.statement,
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
        Outcome::Failed(kind) => kind_name(kind),
        Outcome::Killed | Outcome::TimedOut | Outcome::Cancelled => outcome.name(),
    }
}

fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Invalid => "invalid",
        ErrorKind::NotFound => "not_found",
        ErrorKind::AlreadyExists => "already_exists",
        ErrorKind::NotAllowed => "not_allowed",
        ErrorKind::Conflict => "conflict",
        ErrorKind::Exhausted => "exhausted",
        ErrorKind::ReadOnly => "read_only",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Denied => "denied",
        ErrorKind::Unauthenticated => "unauthenticated",
        ErrorKind::Damaged => "damaged",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Internal => "internal",
        _ => "cancelled",
    }
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
