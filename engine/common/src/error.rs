//! Errors as users see them: one clear sentence, the position in the SQL, and what to do.

pub mod copy;
pub mod disk_full;
pub mod export;
pub mod foreign_names;
mod from_datafusion;
pub mod function;
pub mod import;
pub mod kind;
pub mod sql_wording;
pub mod text;

use std::path::PathBuf;

use datafusion::common::{DataFusionError, ResolvedTableReference};
use pmem_store::StoreError;
use pmem_store::lock::{LockError, LockKind};

use crate::error::export::ExportError;
use crate::error::import::ImportError;
use crate::error::kind::ErrorKind;
use crate::error::text::bounded;

/// A message may contain an expression, a value or a name of the statement, which can be very long, so it is shown `bounded`.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The statement is not SQL, or it names something that does not exist.
    #[error("{}", bounded(message))]
    Sql { message: String, position: Option<usize>, hint: Option<String> },
    /// A table that does not exist, or that the user may not know of. `explain_error` makes the message for users.
    #[error("table '{}' not found", bounded(&.0.to_string()))]
    NoTable(ResolvedTableReference),
    #[error("table function '{}' not found", bounded(.0))]
    NoTableFunction(String),
    #[error("view \"{}\" refers to itself", bounded(.0))]
    ViewCycle(String),
    #[error("{}", bounded(message))]
    Execution { message: String, hint: Option<String> },
    /// The statement cannot be run with this value.
    #[error("{}", bounded(message))]
    Data { message: String, position: Option<usize>, hint: Option<String> },
    #[error("{} is not supported", bounded(feature))]
    Unsupported { feature: String, hint: Option<String> },
    #[error("NULL in column \"{}\" of \"{}\", which is NOT NULL (row {row} of the rows being written)", bounded(column), bounded(table))]
    NotNull { table: String, column: String, row: u64 },
    /// A row violates a constraint of its table.
    #[error("{}", bounded(message))]
    Constraint { constraint: String, message: String },
    #[error("out of memory: {}", bounded(message))]
    Memory { message: String },
    #[error("the query was cancelled")]
    Cancelled,
    #[error("the statement was ended by KILL")]
    Killed,
    #[error("the statement took longer than its limit of {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
    #[error("the statement waited {limit_ms} ms for its turn, and as many as may run at once were still running")]
    QueueTimedOut { limit_ms: u64 },
    #[error("there is no statement {id} that could be ended")]
    NoSuchQuery { id: u64 },
    #[error("statement {id} is another user's")]
    NotOwnQuery { id: u64 },
    #[error("statement {id} has done its work: it is being committed, or only its answer was not read yet")]
    QueryDone { id: u64 },
    /// A foreign plan cannot be used, or an error gets another hint.
    #[error("{}", bounded(message))]
    Plan { message: String, hint: Option<String>, kind: ErrorKind },
    /// Another machine, or an object on it, is unreachable for now.
    #[error("{}", bounded(message))]
    Unreachable { message: String, hint: Option<String> },
    /// The user lacks the privilege.
    #[error("{}", bounded(message))]
    Denied { message: String, hint: String },
    /// An unknown user or role. The hint names one that differs only in case, if there is one.
    #[error("{kind} \"{}\" does not exist", bounded(name))]
    NoPrincipal { kind: &'static str, name: String, hint: String },
    /// The caller is not authenticated.
    #[error("{}", bounded(message))]
    Unauthenticated { message: String },
    #[error("cannot use \"{}\" to spill to: {source}", path.display())]
    SpillDir { path: PathBuf, source: std::io::Error },
    #[error("the disk is full: what a query needs beyond its memory could not be written to where queries spill")]
    SpillFull,
    #[error("{}", bounded(&.0.to_string()))]
    Store(#[from] StoreError),
    #[error("{}", bounded(&.0.to_string()))]
    Import(#[from] ImportError),
    #[error("{}", bounded(&.0.to_string()))]
    Export(ExportError),
    #[error("internal error: {}; please report it", bounded(.0))]
    Internal(String),
}

impl EngineError {
    pub fn internal(message: impl Into<String>) -> Self {
        EngineError::Internal(message.into())
    }

    pub fn data(message: impl Into<String>, hint: Option<String>) -> Self {
        EngineError::Data { message: message.into(), position: None, hint }
    }

    pub fn unsupported(feature: impl Into<String>, hint: Option<&str>) -> Self {
        EngineError::Unsupported { feature: feature.into(), hint: hint.map(str::to_string) }
    }

    pub fn into_datafusion(self) -> DataFusionError {
        DataFusionError::External(Box::new(self))
    }

    /// Byte offset in the statement, if the error has a position.
    pub fn position(&self) -> Option<usize> {
        match self {
            EngineError::Sql { position, .. } | EngineError::Data { position, .. } => *position,
            _ => None,
        }
    }

    pub fn hint(&self) -> Option<&str> {
        match self {
            EngineError::Sql { hint, .. } | EngineError::Execution { hint, .. } | EngineError::Unsupported { hint, .. } => hint.as_deref(),
            EngineError::Data { hint, .. } | EngineError::Plan { hint, .. } | EngineError::Unreachable { hint, .. } => hint.as_deref(),
            EngineError::Denied { hint, .. } | EngineError::NoPrincipal { hint, .. } => Some(hint),
            EngineError::Memory { .. } => Some("give it more with --memory-limit, or ask for less at once"),
            EngineError::SpillFull => {
                Some("free some space, name another directory with --spill-dir, or give the query more memory with --memory-limit")
            }
            EngineError::TimedOut { .. } => Some("SET quiver.statement_timeout_ms changes the limit for the session, 0 takes it away"),
            EngineError::QueueTimedOut { .. } => Some("try again later; system.queries lists what runs, and queries_max is how many may"),
            EngineError::NoSuchQuery { .. } => Some("system.queries lists those that run"),
            EngineError::NotOwnQuery { .. } => Some("ask an administrator to end it"),
            EngineError::Store(StoreError::Lock(LockError::InUse { kind: LockKind::Exclusive, .. })) => {
                Some("its last version can be read meanwhile: with --read-only, or read_only=True in Python")
            }
            _ => None,
        }
    }
}

pub fn store_error(error: StoreError) -> DataFusionError {
    DataFusionError::External(Box::new(EngineError::Store(error)))
}

impl From<EngineError> for DataFusionError {
    fn from(error: EngineError) -> Self {
        error.into_datafusion()
    }
}

impl From<ExportError> for EngineError {
    fn from(error: ExportError) -> Self {
        match error {
            // Producing the rows failed, not writing them.
            ExportError::Source(source) => EngineError::from(DataFusionError::External(source)),
            error => EngineError::Export(error),
        }
    }
}

/// The name closest to `name`, if it is close enough to be a typing error.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let chars = name.chars().count();
    // A single letter would match any other.
    let allowed = if chars < 2 { 0 } else { (chars / 3).clamp(1, 3) };
    candidates
        .map(|candidate| (strsim::osa_distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
