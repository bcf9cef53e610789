//! The catalog: what exists, in redb. This folder alone knows redb.

mod access;
mod database;
mod garbage;
mod history;
mod identity;
mod image;
mod integrity;
mod read;
mod records;
mod simulated;
mod sum;
#[cfg(test)]
mod tests;
mod write;

pub use access::{GrantObject, GrantRecord, PrincipalRecord};
pub(crate) use database::{Access, Database};
pub(crate) use identity::new_store_id;
pub(crate) use read::CatalogReader;
pub use records::{
    ColumnOrder, DEFAULT_RETENTION_MS, Grown, LogRecord, NamedSnapshot, NamespaceRecord, SegmentRecord, StoreRecord, TableId, TableRecord,
    VersionRecord, ViewRecord,
};
pub(crate) use records::{Garbage, GarbageKind};
pub(crate) use write::CatalogWriter;

/// Format of this version. A reader refuses a reader flag it does not know, a writer either.
pub const FORMAT_VERSION: u32 = 1;
/// Rows may be deleted, and segments and schemas be kept for older versions alone.
pub const FEATURE_VERSIONS: u64 = 1;
pub const READER_FEATURES: u64 = FEATURE_VERSIONS;
/// There are users, roles and grants, of which those go that are about what is dropped.
pub const FEATURE_ACCESS: u64 = 1;
pub const WRITER_FEATURES: u64 = FEATURE_ACCESS;
