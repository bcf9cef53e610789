//! Arrow tables at rest: mapped regions, sealed segments, the catalog, commits and snapshots.
//!
//! No DataFusion, no SQL and no network here. The bytes on disk are described in
//! `docs/format.md`, what a crash may and may not take in `docs/durability.md`.

pub mod catalog;
mod check;
mod error;
pub mod fault;
mod files;
mod info;
pub mod lock;
pub mod mapping;
mod recovery;
pub mod region;
pub mod segment;
mod snapshot;
mod store;
mod transaction;

pub use catalog::{ColumnOrder, SegmentRecord, TableId, TableRecord, ViewRecord};
pub use check::{CheckProgress, CheckReport};
pub use error::StoreError;
pub use info::{StoreInfo, TableInfo};
pub use region::{Mode, RegionKind};
pub use segment::{Appender, SealedSegment, Segment, ZoneStatistics};
pub use snapshot::{SegmentHandle, Snapshot, TableSnapshot};
pub use store::{Store, StoreOptions};
pub use transaction::{NewTable, Transaction};

/// Rows of a zone: the unit of statistics and pruning, and the batch size the engine works in.
pub const ZONE_ROWS: usize = 8_192;

/// The namespace of a table named without one.
pub const DEFAULT_NAMESPACE: &str = "main";
