//! The parts of an error that a client may show separately: JSON in the trailer `x-quiver-error-bin`, in addition to
//! the message, which contains all of them. docs/flight-sql.md lists the fields.

use engine::EngineError;
use serde::{Deserialize, Serialize};
use tonic::Status;
use tonic::metadata::MetadataValue;

pub const TRAILER: &str = "x-quiver-error-bin";

/// The kind of the error for a call in a session that the server does not have. The call did nothing.
pub const SESSION_ENDED: &str = "session_ended";

/// Clients commonly accept 8 KiB of headers in all, and the message contains the hint as well.
const HINT_BYTES_MAX: usize = 1_000;

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The kind, which is finer than the code: `ErrorKind::name`, or [`SESSION_ENDED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The byte offset in the UTF-8 text of the statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

impl ErrorDetails {
    pub fn of_error(error: &EngineError) -> ErrorDetails {
        let hint = error.hint().filter(|hint| hint.len() <= HINT_BYTES_MAX);
        ErrorDetails { hint: hint.map(str::to_string), kind: Some(error.kind().name().to_string()), position: error.position() }
    }

    /// Empty if the trailer is missing or invalid.
    pub fn of_status(status: &Status) -> ErrorDetails {
        let bytes = status.metadata().get_bin(TRAILER).and_then(|value| value.to_bytes().ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub fn put_into(&self, status: &mut Status) {
        if *self == ErrorDetails::default() {
            return;
        }
        if let Ok(json) = serde_json::to_vec(self) {
            status.metadata_mut().insert_bin(TRAILER, MetadataValue::from_bytes(&json));
        }
    }
}

/// Line and column from 1; the column counts characters.
pub fn place(sql: &str, position: usize) -> Option<String> {
    let before = sql.get(..position)?;
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
    Some(format!("at line {line}, column {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_survive_the_way_through_a_status() {
        let details = ErrorDetails { hint: Some("did you mean \"ümlaut\"?".into()), kind: Some("data".into()), position: Some(7) };
        let mut status = Status::invalid_argument("no");
        details.put_into(&mut status);
        assert_eq!(ErrorDetails::of_status(&status), details);
        assert_eq!(ErrorDetails::of_status(&Status::internal("x")), ErrorDetails::default());
    }

    #[test]
    fn a_position_is_counted_in_lines_and_characters() {
        assert_eq!(place("SELECT 1", 7).unwrap(), "at line 1, column 8");
        assert_eq!(place("SELECT 'ü',\n  x", 15).unwrap(), "at line 2, column 3");
        assert_eq!(place("short", 99), None);
    }
}
