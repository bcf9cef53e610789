//! Arrow tables at rest: mapped regions, sealed segments, the catalog, commits and snapshots.
//!
//! No DataFusion, no SQL and no network here. The bytes on disk are described in
//! `docs/format.md`, and `docs/durability.md` says what a crash may and may not take.

mod access;
pub mod attributes;
mod backup;
mod backup_report;
pub mod catalog;
mod check;
mod checksum;
mod clock;
mod close_record;
pub mod deletions;
mod error;
pub mod fault;
mod files;
mod info;
mod loan;
pub mod lock;
pub mod log;
mod logs;
pub mod mapping;
mod names;
pub mod objects;
mod open;
mod priority;
mod publisher;
mod recovery;
pub mod region;
pub mod requests;
mod seal;
pub mod segment;
mod shared;
mod snapshot;
mod state;
mod store;
mod tiers;
mod transaction;
mod versions;

pub use access::{Access, Author, OWNERSHIP};
pub use backup::{BackupError, BackupProgress, BackupReport, FileCount, VerifyReport, restore_backup, verify_backup};
pub use catalog::{
    ARRAY_OPTION, ColumnOrder, DEFAULT_RETENTION_MS, ENCODING_OPTION, GrantObject, GrantRecord, NamedSnapshot, PLAIN, PrefetchSettings,
    PrincipalRecord, SegmentRecord, TIER_OPTION, TIER_POLICY_OPTION, TableId, TableRecord, VersionRecord, ViewRecord,
};
pub use check::{CheckProgress, CheckReport};
pub use deletions::Deletions;
pub use error::StoreError;
pub use info::{StoreInfo, TableInfo};
pub use loan::Loan;
pub use log::LogInfo;
pub use logs::Durability;
pub use names::{SYSTEM_NAMESPACE, said_name};
pub use object_tier::ObjectError;
pub use priority::lower_thread_priority;
pub use region::{Mode, RegionKind};
pub use roaring::RoaringBitmap;
pub use segment::{Appender, SealedSegment, Segment, ZoneStatistics, compact};
pub use shared::{HandOff, ReplacedSegment, Replacement, SegmentHandle, Touches};
pub use snapshot::{ObjectOwner, Snapshot, TableSnapshot, Visibility};
pub use state::{ColumnInfo, TableData, TableSegment, Tail};
pub use store::{Store, StoreOptions};
pub use tiers::{StoreTiers, Tier, is_slow_tier};
pub use transaction::{Acknowledgement, CommitCheck, NewTable, Savepoint, TableAlteration, TableVersion, Transaction};
pub use versions::{StagedVersion, VersionInfo};

/// Rows of a zone: the unit of statistics and pruning, and the batch size the engine works in.
pub const ZONE_ROWS: usize = 8_192;

/// The namespace of a table whose name has no schema.
pub const DEFAULT_NAMESPACE: &str = "main";
