//! Why a module cannot be used, or a call of it has failed.

use arrow::error::ArrowError;
use common::error::EngineError;

#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    #[error("this is no WebAssembly module that can be used: {0}")]
    NoModule(String),
    #[error("the module imports {module}.{name}, and a function of the store is given nothing but its arguments")]
    Import { module: String, name: String },
    #[error("the module exports no {0}")]
    NoExport(String),
    #[error("the type {0} cannot be passed to a module")]
    UnsupportedType(String),
    #[error("the call was stopped because it took longer than {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
    #[error("the query was cancelled")]
    Cancelled,
    #[error("the module needs more than {limit_bytes} bytes of memory")]
    OutOfMemory { limit_bytes: usize },
    #[error("the module crashed: {0}")]
    Trap(String),
    /// What the function itself says.
    #[error("{0}")]
    Failed(String),
    #[error("the result is no array that can be read: {0}")]
    NoArray(String),
    #[error("it returned {found} values for {expected} rows")]
    WrongLength { expected: usize, found: i64 },
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl WasmError {
    /// As an error of the statement, with the name of the function.
    pub fn of(self, function: &str) -> EngineError {
        match self {
            WasmError::Cancelled => EngineError::Cancelled,
            error => EngineError::Sql { message: format!("function {function}: {error}"), position: None, hint: error.hint() },
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            WasmError::TimedOut { .. } => Some("SET function_timeout_ms = n allows more".into()),
            WasmError::OutOfMemory { .. } => Some("SET function_memory_limit = n allows more".into()),
            WasmError::NoExport(_) => Some("docs/user-functions.md says what a module exports, and quiver.h does it for C".into()),
            _ => None,
        }
    }
}
