//! The catalog: the list of all objects of a store, kept in redb. Only this folder uses redb.

mod access;
mod database;
mod features;
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
pub(crate) use features::check_features;
pub use features::{
    FEATURE_ACCESS, FEATURE_FUNCTIONS, FEATURE_OBJECT_TIER, FEATURE_TIERS, FEATURE_VERSIONS, FORMAT_VERSION, READER_FEATURES,
    WRITER_FEATURES,
};
pub(crate) use identity::new_store_id;
pub(crate) use read::CatalogReader;
pub use records::{
    ARRAY_OPTION, ColumnOrder, DEFAULT_RETENTION_MS, ENCODING_OPTION, Grown, LogRecord, NamespaceRecord, PLAIN, PrefetchSettings,
    SegmentRecord, StoreRecord, TIER_OPTION, TIER_POLICY_OPTION, TableRecord, VersionRecord, ViewRecord,
};
pub(crate) use records::{Garbage, GarbageKind};
pub(crate) use write::CatalogWriter;

pub use crate::names::{NamedSnapshot, TableId};
