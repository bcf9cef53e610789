//! The errors of a store. Each has what a person needs to act on it.

mod backup;

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::attributes::AttributeError;
use crate::lock::LockError;
use crate::mapping::MappingError;
use crate::names::{NamedSnapshot, TableId, said_name};
use crate::region::RegionError;

pub use backup::BackupError;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at \"{}\"", .0.display())]
    NotFound(PathBuf),
    #[error("\"{}\" is not a Quiver store: {reason}", path.display())]
    NotAStore { path: PathBuf, reason: String },
    #[error(
        "the store \"{}\" needs {role} feature {feature:#x} that this version of Quiver does not know; use a newer version",
        path.display()
    )]
    NewerFormat { path: PathBuf, role: &'static str, feature: u64 },
    #[error(
        "the store \"{}\" has format {found}; this version of Quiver knows formats up to {format_max}; use a newer version",
        path.display()
    )]
    NewerVersion { path: PathBuf, found: u32, format_max: u32 },
    #[error("the store \"{}\" was not closed properly; open it for writing once to recover it", .0.display())]
    NotClosed(PathBuf),
    #[error("the store \"{}\" is open read-only; open it for writing to change it", .0.display())]
    ReadOnly(PathBuf),
    #[error("no permission to {action} \"{}\"", path.display())]
    Permission { action: &'static str, path: PathBuf },
    #[error("the disk is full: could not write \"{}\"; nothing was changed; free some space and try again", .0.display())]
    NoSpace(PathBuf),
    #[error("the disk is full: could not write \"{}\"; free some space and open the store again to write to it", .0.display())]
    NoSpaceForCatalog(PathBuf),
    #[error(
        "the disk is full: \"{}\" could not be written, so it is not known whether this was committed; nothing more is written, free some space and open the store again, which shows it",
        .0.display()
    )]
    NoSpaceForCommit(PathBuf),
    #[error("cannot {action} \"{}\": {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("segment file \"{}\" is damaged at byte {offset}: {what}; run `quiver check` and restore the table from its source", path.display())]
    Damaged { path: PathBuf, offset: u64, what: String },
    #[error("{kind} \"{name}\" already exists")]
    AlreadyExists { kind: &'static str, name: String },
    #[error("a {kind} cannot have an empty name; give it one")]
    NoName { kind: &'static str },
    #[error("{kind} \"{name}\" does not exist")]
    DoesNotExist { kind: &'static str, name: String },
    #[error("another transaction changed table \"{table}\" first; run the statement or transaction again")]
    Conflict { table: String },
    #[error("table \"{table}\" is read-only; ALTER TABLE {table} SET (read_only = false) allows changes again")]
    ReadOnlyTable { table: String },
    #[error("the store has no tier \"{tier}\"; ALTER SYSTEM SET {tier}_tier = '{example}' gives it one")]
    NoTier { tier: &'static str, example: &'static str },
    #[error(
        "the tier \"{tier}\" is full: {bytes} bytes more would be over its limit of {limit_bytes}; ALTER SYSTEM SET {tier}_tier_limit changes it"
    )]
    TierFull { tier: &'static str, bytes: u64, limit_bytes: u64 },
    #[error("{0}")]
    ObjectStore(#[from] object_tier::ObjectError),
    #[error(
        "\"{url}\" belongs to another store, of which this may be a copy; ALTER SYSTEM SET object_tier = … gives it to this one if the other is gone"
    )]
    OthersObjects { url: String },
    #[error(
        "\"{}\" belongs to another store, of which this may be a copy; ALTER SYSTEM SET disk_tier = … gives it to this one if the other is gone",
        path.display()
    )]
    OthersTier { path: PathBuf },
    #[error(
        "\"{tier}\" belongs to the store \"{}\", which is still there and of which this is a copy; give this one another tier, or remove that one first",
        owner.display()
    )]
    TierInUse { tier: String, owner: PathBuf },
    #[error("\"{}\" is not there; is the disk of that directory mounted? ALTER SYSTEM RESET disk_tier forgets it", path.display())]
    TierNotMounted { path: PathBuf },
    #[error("the rows of segment \"{}\" lie at \"{}\", which is not there; is the disk of that directory mounted?", segment.display(), file.display())]
    TierGone { segment: PathBuf, file: PathBuf },
    #[error("the table was dropped while the statement ran")]
    TableGone,
    #[error("table \"{table}\" is kept by snapshot \"{snapshot}\"; drop the snapshot first")]
    KeptBySnapshot { id: TableId, namespace: String, table: String, snapshot: String },
    #[error("{}", no_such_version(*.version, *.oldest, *.newest, .named))]
    NoSuchVersion { version: u64, oldest: u64, newest: u64, named: Vec<NamedSnapshot> },
    #[error(
        "version {version} is not kept apart from the ones beside it: small appends are put together after a while; choose another one"
    )]
    BetweenVersions { version: u64 },
    #[error("table \"{table}\" was made by version {created}, so there is none at version {version}")]
    BeforeTable { table: String, version: u64, created: u64 },
    #[error("the history of the store does not go back so far")]
    BeforeHistory { oldest_ms: Option<u64> },
    /// A check of the layer above refused the commit.
    #[error("{0}")]
    Refused(String),
    /// The user lacks a privilege.
    #[error("{0}")]
    Denied(String),
    #[error("schema \"{0}\" is not empty; drop its tables first or use DROP SCHEMA … CASCADE")]
    NamespaceNotEmpty(String),
    #[error("the catalog of \"{}\" cannot be read: {what}", path.display())]
    Catalog { path: PathBuf, what: String },
    #[error("\"{}\" could not be made durable ({source}); nothing more is written, check the disk and open the store again", path.display())]
    Sync { path: PathBuf, source: std::io::Error },
    #[error("the catalog \"{}\" could not be read or written ({what}); nothing more is written, check the disk and open the store again", path.display())]
    CatalogIo { path: PathBuf, what: String },
    #[error(
        "\"{}\" could not be written ({what}), so it is not known whether this was committed; nothing more is written, check the disk and open the store again, which shows it",
        path.display()
    )]
    UnknownCommit { path: PathBuf, what: String },
    /// `rows` is `None` if the number of lost rows is unknown.
    #[error(
        "log \"{}\" is damaged at byte {offset}: {}; restore the store from a backup, or run `quiver check --accept-loss` to go on without them",
        path.display(), lost_rows(.what.as_deref(), *.rows, *.bytes)
    )]
    LogDamaged { path: PathBuf, offset: u64, what: Option<String>, rows: u64, bytes: u64 },
    #[error("\"{}\", which says how the store was closed, {what}; it is written anew when the store is closed", path.display())]
    ClosedDamaged { path: PathBuf, what: String },
    #[error("the catalog \"{}\" is damaged: {what}; restore the store from a backup", path.display())]
    CatalogDamaged { path: PathBuf, what: String },
    #[error("{0} cannot be stored")]
    UnsupportedType(String),
    #[error("nothing is written any more since a write or flush failed: {0}; check the disk and open the store again")]
    Poisoned(String),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Attribute(#[from] AttributeError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Region(RegionError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
    #[error("Arrow refused the data: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
}

impl From<RegionError> for StoreError {
    fn from(error: RegionError) -> Self {
        StoreError::Region(error)
    }
}

impl StoreError {
    pub fn no_table(namespace: &str, name: &str) -> Self {
        StoreError::DoesNotExist { kind: "table", name: said_name(namespace, name) }
    }

    /// `kind`: "table" or "view".
    pub fn is_taken(kind: &'static str, namespace: &str, name: &str) -> Self {
        StoreError::AlreadyExists { kind, name: said_name(namespace, name) }
    }

    /// Turns an I/O error into the message that fits its kind.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => StoreError::Permission { action, path },
            std::io::ErrorKind::StorageFull => StoreError::NoSpace(path),
            _ => StoreError::Io { action, path, source },
        }
    }

    /// The disk is full, whichever layer found it.
    pub fn is_no_space(&self) -> bool {
        match self {
            StoreError::NoSpace(_)
            | StoreError::NoSpaceForCatalog(_)
            | StoreError::NoSpaceForCommit(_)
            | StoreError::Region(RegionError::NoSpace { .. }) => true,
            StoreError::Io { source, .. } | StoreError::Sync { source, .. } => is_full(source),
            StoreError::Region(RegionError::Write { source, .. } | RegionError::Flush { source, .. }) => is_full(source),
            _ => false,
        }
    }

    pub(crate) fn damaged(path: &std::path::Path, offset: u64, what: impl Into<String>) -> Self {
        StoreError::Damaged { path: path.to_path_buf(), offset, what: what.into() }
    }
}

/// For a write: there is no space on the disk, or a limit of the user or of the file is reached.
pub(crate) fn is_full(source: &std::io::Error) -> bool {
    matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

fn lost_rows(what: Option<&str>, rows: u64, bytes: u64) -> String {
    let noted = format!("{rows} of its rows ({bytes} bytes) are lost");
    match (what, rows) {
        (None, _) => noted,
        (Some(what), 0) => format!("{what}; the rows that it had from there on are lost, and how many there were cannot be known"),
        (Some(what), _) => format!("{what}; {noted}, and those that came after the store was closed, if there were any"),
    }
}

/// More names than this are not shown.
const NAMES_SHOWN_MAX: usize = 10;

fn no_such_version(version: u64, oldest: u64, newest: u64, named: &[NamedSnapshot]) -> String {
    if version > newest {
        return format!("there is no version {version} yet; the last one is {newest}");
    }
    let shown = named.iter().take(NAMES_SHOWN_MAX).map(|snapshot| format!("\"{}\" ({})", snapshot.name, snapshot.version));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let names = match named.len() {
        0 => String::new(),
        1 => format!(", and snapshot {shown}"),
        2..=NAMES_SHOWN_MAX => format!(", and snapshots {shown}"),
        more => format!(", and snapshots {shown} and {} more", more - NAMES_SHOWN_MAX),
    };
    format!("version {version} is not kept any more; there are versions {oldest} to {newest}{names}")
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_a_full_disk_is_recognised() {
        let path = PathBuf::from("x");
        assert!(StoreError::NoSpaceForCatalog(path.clone()).is_no_space());
        assert!(StoreError::NoSpaceForCommit(path.clone()).is_no_space());
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert!(StoreError::io("write", &path, kind.into()).is_no_space(), "{kind}");
        }
        assert!(!StoreError::io("write", &path, ErrorKind::NotFound.into()).is_no_space());
    }
}
