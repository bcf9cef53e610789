//! Converts errors to exceptions, which needs Python's lock; elsewhere they are a [`Refusal`] or an error of the engine. The
//! classes are in `quiver/errors.py`, which maps a kind to its class.

use engine::{EngineError, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::process::ForkedProcess;
use crate::refusal::Refusal;

const MODULE: &str = "quiver.errors";

/// An error of a statement, with its position in the text.
pub fn of_statement(error: &EngineError, sql: &str) -> PyErr {
    let place = error.position().and_then(|position| place(sql, position));
    raised(kind(error), &error.to_string(), error.hint(), place)
}

pub fn of_engine(error: &EngineError) -> PyErr {
    raised(kind(error), &error.to_string(), error.hint(), None)
}

/// An invalid argument of the caller.
pub fn invalid(message: &str) -> PyErr {
    raised("invalid", message, None, None)
}

pub fn internal(message: &str) -> PyErr {
    raised("internal", &format!("{message}; please report it"), None, None)
}

pub fn closed() -> PyErr {
    refused(&Refusal::ConnectionClosed, "")
}

/// The exception for a refusal. A result that has failed raises its first error again.
pub fn refused(refusal: &Refusal, sql: &str) -> PyErr {
    match refusal {
        Refusal::Failed(error) => of_statement(error, sql),
        other => raised("misuse", &other.to_string(), other.hint(), None),
    }
}

impl From<ForkedProcess> for PyErr {
    fn from(forked: ForkedProcess) -> PyErr {
        raised("misuse", &forked.to_string(), Some("open it in this process"), None)
    }
}

fn raised(kind: &str, message: &str, hint: Option<&str>, place: Option<(usize, usize)>) -> PyErr {
    Python::attach(|py| exception(py, kind, message, hint, place).unwrap_or_else(|error| error))
}

fn exception(py: Python<'_>, kind: &str, message: &str, hint: Option<&str>, place: Option<(usize, usize)>) -> PyResult<PyErr> {
    let words = PyDict::new(py);
    words.set_item("hint", hint)?;
    words.set_item("place", place)?;
    let exception = py.import(MODULE)?.call_method("of_kind", (kind, message), Some(&words))?;
    Ok(PyErr::from_value(exception))
}

fn kind(error: &EngineError) -> &'static str {
    match error.kind() {
        // A directory that is not a store, or a file that cannot be read, is not a bug to report.
        ErrorKind::Internal if !matches!(error, EngineError::Internal(_)) => "operational",
        kind => kind.name(),
    }
}

/// Line and column from 1; the column counts characters.
fn place(sql: &str, position: usize) -> Option<(usize, usize)> {
    let before = sql.get(..position)?;
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
    Some((line, column))
}
