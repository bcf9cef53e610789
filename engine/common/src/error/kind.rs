//! The kind of an error, for front ends that answer with codes.

use pmem_store::attributes::AttributeError;
use pmem_store::{ObjectError, StoreError};

use crate::error::EngineError;
use crate::error::import::{IS_NULL, ImportError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The statement, or the data that came with it, is invalid.
    Invalid,
    /// The operation has no result for a value of a row or of the statement: a division by zero, an overflow, or a text that cannot be
    /// converted.
    Data,
    NotFound,
    AlreadyExists,
    /// The state of the store, of a table or of its rows does not allow it.
    NotAllowed,
    /// Another transaction committed first: a retry may succeed.
    Conflict,
    /// Memory or disk space.
    Exhausted,
    ReadOnly,
    Unsupported,
    Cancelled,
    /// A time limit was reached.
    TimedOut,
    /// The user lacks the privilege.
    Denied,
    /// The password is wrong, or the user no longer exists.
    Unauthenticated,
    Damaged,
    /// The store accepts no writes for now, or another node cannot be reached.
    Unavailable,
    Internal,
}

impl ErrorKind {
    /// One word, for columns, logs and other programs.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid",
            ErrorKind::Data => "data",
            ErrorKind::NotFound => "not_found",
            ErrorKind::AlreadyExists => "already_exists",
            ErrorKind::NotAllowed => "not_allowed",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Exhausted => "exhausted",
            ErrorKind::ReadOnly => "read_only",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::TimedOut => "timed_out",
            ErrorKind::Denied => "denied",
            ErrorKind::Unauthenticated => "unauthenticated",
            ErrorKind::Damaged => "damaged",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Internal => "internal",
        }
    }
}

impl EngineError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            EngineError::Sql { .. } | EngineError::Execution { .. } => ErrorKind::Invalid,
            EngineError::NoTable(_) | EngineError::NoTableFunction(_) | EngineError::ViewCycle(_) => ErrorKind::Invalid,
            EngineError::Data { .. } => ErrorKind::Data,
            EngineError::Import(ImportError::BadRow(row)) if row.problem == IS_NULL => ErrorKind::NotAllowed,
            EngineError::Import(ImportError::BadRow(_)) => ErrorKind::Data,
            EngineError::Import(ImportError::Elsewhere { .. }) => ErrorKind::Denied,
            EngineError::Import(ImportError::Internal { .. }) => ErrorKind::Internal,
            EngineError::Import(_) | EngineError::Export(_) => ErrorKind::Invalid,
            EngineError::Unsupported { .. } => ErrorKind::Unsupported,
            EngineError::NotNull { .. } | EngineError::Constraint { .. } => ErrorKind::NotAllowed,
            EngineError::Memory { .. } | EngineError::SpillFull => ErrorKind::Exhausted,
            EngineError::Cancelled | EngineError::Killed => ErrorKind::Cancelled,
            EngineError::TimedOut { .. } => ErrorKind::TimedOut,
            EngineError::QueueTimedOut { .. } => ErrorKind::Exhausted,
            EngineError::NoSuchQuery { .. } | EngineError::NoPrincipal { .. } => ErrorKind::NotFound,
            EngineError::NotOwnQuery { .. } => ErrorKind::Denied,
            EngineError::QueryDone { .. } => ErrorKind::NotAllowed,
            EngineError::Plan { kind, .. } => *kind,
            EngineError::Denied { .. } => ErrorKind::Denied,
            EngineError::Unauthenticated { .. } => ErrorKind::Unauthenticated,
            EngineError::SpillDir { .. } | EngineError::Unreachable { .. } => ErrorKind::Unavailable,
            EngineError::Store(error) => of_store(error),
            EngineError::Internal(_) => ErrorKind::Internal,
        }
    }
}

fn of_store(error: &StoreError) -> ErrorKind {
    if error.is_no_space() {
        return ErrorKind::Exhausted;
    }
    match error {
        StoreError::NotFound(_)
        | StoreError::DoesNotExist { .. }
        | StoreError::NoSuchVersion { .. }
        | StoreError::BetweenVersions { .. }
        | StoreError::BeforeTable { .. }
        | StoreError::BeforeHistory { .. } => ErrorKind::NotFound,
        StoreError::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        StoreError::Conflict { .. } | StoreError::TableGone => ErrorKind::Conflict,
        StoreError::ReadOnly(_) | StoreError::Permission { .. } => ErrorKind::ReadOnly,
        StoreError::TierFull { .. } | StoreError::NoSpace(_) | StoreError::NoSpaceForCatalog(_) | StoreError::NoSpaceForCommit(_) => ErrorKind::Exhausted,
        StoreError::Damaged { .. }
        | StoreError::Attribute(AttributeError::Damaged { .. })
        | StoreError::LogDamaged { .. }
        | StoreError::CatalogDamaged { .. }
        | StoreError::ClosedDamaged { .. } => ErrorKind::Damaged,
        StoreError::UnsupportedType(_) => ErrorKind::Unsupported,
        StoreError::Denied(_) => ErrorKind::Denied,
        StoreError::Arrow(_) | StoreError::NoName { .. } | StoreError::Attribute(_) => ErrorKind::Invalid,
        StoreError::NoTier { .. } | StoreError::OthersTier { .. } | StoreError::TierInUse { .. } | StoreError::OthersObjects { .. } | StoreError::ObjectStore(ObjectError::Url { .. }) | StoreError::KeptBySnapshot { .. } | StoreError::ReadOnlyTable { .. } | StoreError::Refused(_) | StoreError::NamespaceNotEmpty(_) | StoreError::Backup(_) => {
            ErrorKind::NotAllowed
        }
        StoreError::Poisoned(_)
        | StoreError::CatalogIo { .. }
        | StoreError::Sync { .. }
        | StoreError::Region(_)
        | StoreError::Lock(_)
        | StoreError::TierGone { .. }
        | StoreError::ObjectStore(_)
        | StoreError::TierNotMounted { .. }
        | StoreError::NotClosed(_) => ErrorKind::Unavailable,
        StoreError::NotAStore { .. }
        | StoreError::NewerFormat { .. }
        | StoreError::NewerVersion { .. }
        | StoreError::Io { .. }
        | StoreError::Catalog { .. }
        // Not UNAVAILABLE: programs retry that automatically, and the commit may have succeeded.
        | StoreError::UnknownCommit { .. }
        | StoreError::Mapping(_) => ErrorKind::Internal,
    }
}
