//! The catalog: what exists, in redb. This folder alone knows redb.

mod database;
mod read;
mod records;
mod write;

pub(crate) use database::{Access, Database};
pub(crate) use read::CatalogReader;
pub use records::{ColumnOrder, NamespaceRecord, SegmentRecord, StoreRecord, TableId, TableRecord, VersionRecord, ViewRecord};
pub(crate) use write::CatalogWriter;

/// Format of this version. A reader refuses a reader flag it does not know, a writer either.
pub const FORMAT_VERSION: u32 = 1;
pub const READER_FEATURES: u64 = 0;
pub const WRITER_FEATURES: u64 = 0;
