//! Errors as the user sees them, and their exit status.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use engine::EngineError;
use flight_client::RemoteError;
use nu_ansi_term::{Color, Style};

use crate::error_mark;
use crate::interrupt::StopRequest;

pub type Result<T> = std::result::Result<T, CliError>;

pub enum CliError {
    /// A statement failed. `place` is the source of the statement.
    Sql { error: StatementError, sql: String, place: ScriptPosition },
    /// Any other error: one sentence, and a hint if there is one.
    Message { text: String, hint: Option<String> },
    /// Wrong usage of the command line; shown like any other message.
    Usage { text: String, hint: String },
    /// The reader of the output has closed it, as `head` does. Nothing is printed.
    OutputClosed,
    /// Ctrl-C, or a signal that ends the process.
    Stopped(StopRequest),
}

/// The error of a statement, here or on a server.
pub struct StatementError {
    pub text: String,
    pub hint: Option<String>,
    /// The byte offset in the statement.
    pub position: Option<usize>,
}

impl StatementError {
    pub fn plain(text: impl Display) -> Self {
        StatementError { text: text.to_string(), hint: None, position: None }
    }
}

impl From<EngineError> for StatementError {
    fn from(error: EngineError) -> Self {
        StatementError { text: error.to_string(), hint: error.hint().map(str::to_string), position: error.position() }
    }
}

impl From<RemoteError> for StatementError {
    fn from(error: RemoteError) -> Self {
        StatementError { text: error.to_string(), hint: error.hint().map(str::to_string), position: error.position() }
    }
}

/// For an error that is not about the text of a statement.
impl From<StatementError> for CliError {
    fn from(error: StatementError) -> Self {
        CliError::Message { text: error.text, hint: error.hint }
    }
}

/// The source of a statement: the file, if it came from one, and the line it starts on.
#[derive(Clone, Default)]
pub struct ScriptPosition {
    pub file: Option<String>,
    pub line: usize,
}

impl CliError {
    pub fn message(text: impl Display) -> Self {
        CliError::Message { text: text.to_string(), hint: None }
    }

    pub fn with_hint(text: impl Display, hint: impl Display) -> Self {
        CliError::Message { text: text.to_string(), hint: Some(hint.to_string()) }
    }

    pub fn usage(text: impl Display, hint: impl Display) -> Self {
        CliError::Usage { text: text.to_string(), hint: hint.to_string() }
    }

    /// An error of the engine that is not about the text of a statement.
    pub fn engine(error: EngineError) -> Self {
        StatementError::from(error).into()
    }

    pub fn file(path: impl Display, error: io::Error) -> Self {
        CliError::message(format!("{path}: {error}"))
    }

    pub fn exit_status(&self) -> u8 {
        match self {
            CliError::Sql { .. } | CliError::Message { .. } => 1,
            CliError::Usage { .. } => 2,
            // The exit status that shells report for a program that SIGPIPE has ended.
            CliError::OutputClosed => 141,
            CliError::Stopped(stop) => stop.exit_status(),
        }
    }

    /// Writes the error to stderr: `error: …`, the marked line, `hint: …`. A stderr that cannot
    /// be written to leaves only the exit status, so failures here are dropped.
    pub fn report(&self) {
        let text = match self {
            CliError::OutputClosed => return,
            CliError::Stopped(stop) => labelled("error", Color::Red, &stop.to_string()),
            CliError::Message { text, hint } => labelled("error", Color::Red, text) + &hint_line(hint.as_deref()),
            CliError::Usage { text, hint } => labelled("error", Color::Red, text) + &hint_line(Some(hint)),
            CliError::Sql { error, sql, place } => {
                labelled("error", Color::Red, &error.text) + &context(error, sql, place) + &hint_line(error.hint.as_deref())
            }
        };
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// An error of writing to stdout or to a file that the user named.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::OutputClosed,
            _ => CliError::message(format!("cannot write the result: {error}")),
        }
    }
}

/// The file and the marked line.
fn context(error: &StatementError, sql: &str, place: &ScriptPosition) -> String {
    let mut lines = String::new();
    let position = error.position.map(|position| position.min(sql.len()));
    if let Some(file) = &place.file {
        let above = &sql[..position.filter(|at| sql.is_char_boundary(*at)).unwrap_or(0)];
        let line = place.line + above.matches('\n').count();
        lines.push_str(&format!("  --> {file}:{line}\n"));
    }
    // The engine's message may contain the line already.
    if let Some(position) = position.filter(|_| !error.text.contains('\n')) {
        lines.push_str(&error_mark::mark(sql, position, place.line.max(1)));
        lines.push('\n');
    }
    lines
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map_or_else(String::new, |hint| labelled("hint", Color::Cyan, hint))
}

pub fn warn(text: impl Display) {
    let line = labelled("warning", Color::Yellow, &text.to_string());
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Something that the user should know, and that is no fault.
pub fn note(text: impl Display) {
    let line = labelled("note", Color::Cyan, &text.to_string());
    let _ = io::stderr().write_all(line.as_bytes());
}

fn labelled(label: &str, color: Color, text: &str) -> String {
    let style = match uses_colors(&io::stderr()) {
        true => color.bold(),
        false => Style::new(),
    };
    format!("{} {}\n", style.paint(format!("{label}:")), text.trim_end())
}

/// Colours are on for a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
pub fn uses_colors(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !refused && !dumb
}
