//! Errors of the engine as clients see them: a status code, a message and a hint.

use arrow::error::ArrowError;
use bytes::Bytes;
use engine::{EngineError, ErrorKind, Session};
use flight_wire::{ErrorDetails, TableCommand, place};
use tonic::{Code, Status};

pub fn status(error: EngineError) -> Status {
    let code = match error.kind() {
        ErrorKind::Invalid | ErrorKind::Data => Code::InvalidArgument,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::AlreadyExists => Code::AlreadyExists,
        ErrorKind::NotAllowed | ErrorKind::ReadOnly => Code::FailedPrecondition,
        ErrorKind::Denied => Code::PermissionDenied,
        ErrorKind::Unauthenticated => Code::Unauthenticated,
        ErrorKind::Conflict => Code::Aborted,
        ErrorKind::Exhausted => Code::ResourceExhausted,
        ErrorKind::Unsupported => Code::Unimplemented,
        ErrorKind::Cancelled => Code::Cancelled,
        ErrorKind::TimedOut => Code::DeadlineExceeded,
        ErrorKind::Damaged => Code::DataLoss,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::Internal => Code::Internal,
    };
    let mut status = Status::new(code, sentence(&error));
    ErrorDetails::of_error(&error).put_into(&mut status);
    status
}

/// Like [`status`], with the position in the statement.
pub fn status_in(error: EngineError, sql: &str) -> Status {
    let Some(place) = error.position().and_then(|position| place(sql, position)) else { return status(error) };
    let located = status(error);
    Status::with_metadata(located.code(), format!("{} ({place})", located.message()), located.metadata().clone())
}

/// Like [`status`], for a table that was named without SQL: the error has no position, and a missing table has the code `NotFound`.
pub fn status_by_path(error: EngineError, command: &TableCommand, session: &Session) -> Status {
    let is_there = session.has_table(&command.schema, &command.table).unwrap_or(true);
    let original = status(error);
    let mut details = ErrorDetails { position: None, ..ErrorDetails::of_status(&original) };
    let mut code = original.code();
    if code == Code::InvalidArgument && !is_there {
        (code, details.kind) = (Code::NotFound, Some(ErrorKind::NotFound.name().to_string()));
    }
    let mut translated = Status::new(code, original.message());
    details.put_into(&mut translated);
    translated
}

/// A message travels in a header, and clients commonly accept 8 KiB of headers in all.
const MESSAGE_BYTES_MAX: usize = 5_000;

fn sentence(error: &EngineError) -> String {
    let text = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    match end_of_fitting(&text) {
        Some(end) => shortened(&text, end),
        None => text,
    }
}

/// The byte at which a message is cut off; `None` if it fits.
fn end_of_fitting(text: &str) -> Option<usize> {
    let mut bytes = 0;
    text.char_indices().find_map(|(at, char)| {
        bytes += header_bytes(char);
        (bytes > MESSAGE_BYTES_MAX).then_some(at)
    })
}

/// In a header, most bytes other than letters take three: `%20`.
fn header_bytes(char: char) -> usize {
    if char.is_ascii_alphanumeric() { 1 } else { 3 * char.len_utf8() }
}

fn shortened(text: &str, end: usize) -> String {
    format!("{}…", &text[..end])
}

/// Logs an error and returns it for the client. Its message may repeat what the client has sent, which need not fit into a
/// header. An error of the client is logged at the level info, and a bug of the server at error.
pub fn log_status(call: &str, error: Status) -> Status {
    let error = match end_of_fitting(error.message()) {
        Some(end) => {
            let details = Bytes::copy_from_slice(error.details());
            Status::with_details_and_metadata(error.code(), shortened(error.message(), end), details, error.metadata().clone())
        }
        None => error,
    };
    match error.code() {
        Code::Internal | Code::DataLoss | Code::Unavailable | Code::Unknown => {
            tracing::error!(call, code = ?error.code(), "{}", error.message());
        }
        code => tracing::info!(call, ?code, "{}", error.message()),
    }
    error
}

/// Arrow fails to encode a result: this is a bug of the server, not an error of the client.
pub fn arrow_status(error: ArrowError) -> Status {
    Status::internal(format!("the result cannot be sent: {error}; please report it"))
}

pub fn protobuf_status(what: &str) -> Status {
    Status::invalid_argument(format!("the {what} is not a message of Flight SQL; send what a Flight SQL client has written"))
}

#[cfg(test)]
mod tests {
    use tonic::codegen::http;

    use super::*;

    #[test]
    fn a_message_fits_into_a_header() {
        for long in ["x".repeat(1 << 20), "no such table ".repeat(1_000), "ü".repeat(10_000), "🦀".repeat(10_000)] {
            let sent = log_status("Test", Status::invalid_argument(long));
            assert!(sent.message().ends_with('…'));
            let mut headers = http::HeaderMap::new();
            sent.add_header(&mut headers).unwrap();
            assert!((1_000..6_000).contains(&headers["grpc-message"].len()), "{} bytes", headers["grpc-message"].len());
        }
        assert_eq!(log_status("Test", Status::invalid_argument("short")).message(), "short");
    }
}
