//! Why a function in Python cannot be used, or a call of it has failed.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use common::error::EngineError;

#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    #[error("the interpreter {} cannot be started: {source}", path.display())]
    Start { path: PathBuf, source: io::Error },
    #[error("seccomp has no rules for this machine: {0}")]
    NoSeccomp(String),
    #[error("the process of the function cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("the process of the function ended: {0}")]
    Ended(String),
    #[error("the call was stopped because it took longer than {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
    #[error("the query was cancelled")]
    Cancelled,
    #[error("there is no memory for its arguments and its result: {0}")]
    Memory(String),
    /// What the function itself says.
    #[error("{message}")]
    Failed { message: String, traceback: Option<String> },
    #[error("the result is no array that can be read: {0}")]
    NoArray(String),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl PythonError {
    /// As an error of the statement, with the name of the function.
    pub fn of(self, function: &str) -> EngineError {
        let hint = match &self {
            PythonError::Cancelled => return EngineError::Cancelled,
            PythonError::TimedOut { .. } => Some("SET function_timeout_ms = n allows more".to_string()),
            PythonError::Failed { message, .. } if message.contains("MemoryError") => {
                Some("SET function_memory_bytes = n allows more".to_string())
            }
            _ => None,
        };
        let message = match &self {
            PythonError::Failed { message, traceback: Some(traceback) } => {
                format!("function {function}: {message}\n{}", traceback.trim_end())
            }
            error => format!("function {function}: {error}"),
        };
        EngineError::Sql { message, position: None, hint }
    }
}

/// A result that breaks the rules of the interface.
pub fn invalid(what: &str) -> PythonError {
    PythonError::NoArray(what.to_string())
}
