//! The catalog's rows. They are JSON, so that a field added later has a default and an old file stays readable.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::names::{SYSTEM_NAMESPACE, TableId};
use crate::segment::SealedSegment;

/// One per store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreRecord {
    pub format_version: u32,
    /// The features that a program must know to read the store, and to write it.
    pub reader_features: u64,
    pub writer_features: u64,
    pub created_at_ms: u64,
    /// The last committed version; 0 before the first commit.
    pub version: u64,
    pub next_table: u64,
    pub next_segment: u64,
    /// Versions before this one can no longer be read, except for the named ones.
    #[serde(default)]
    pub oldest_version: u64,
    /// How long a version stays readable after its successor was made; see [`DEFAULT_RETENTION_MS`].
    #[serde(default = "default_retention_ms")]
    pub retention_ms: u64,
    /// The directory of the tier on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_tier: Option<PathBuf>,
    /// The URL of the tier in an object store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_tier: Option<String>,
    /// The bytes that the tiers may have, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tier_limits: BTreeMap<String, u64>,
    #[serde(default)]
    pub prefetch: PrefetchSettings,
    /// Whether what moves to the tier in an object store is compressed.
    #[serde(default = "compresses_objects")]
    pub compresses_objects: bool,
}

fn compresses_objects() -> bool {
    true
}

/// When the rest of what belongs together is copied to memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrefetchSettings {
    pub is_on: bool,
    /// More than this share of a group, or of the objects with a tag, was read,
    pub share: f64,
    /// within this time.
    pub window_ms: u64,
}

impl Eq for PrefetchSettings {}

impl Default for PrefetchSettings {
    fn default() -> Self {
        PrefetchSettings { is_on: true, share: 0.5, window_ms: 600_000 }
    }
}

/// A day: a mistake of the evening can be undone in the morning.
pub const DEFAULT_RETENTION_MS: u64 = 24 * 3_600 * 1_000;

fn default_retention_ms() -> u64 {
    DEFAULT_RETENTION_MS
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceRecord {
    pub created_version: u64,
}

/// A column of a sort order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnOrder {
    pub column: String,
    #[serde(default)]
    pub descending: bool,
    #[serde(default)]
    pub nulls_first: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRecord {
    pub id: TableId,
    pub namespace: String,
    pub name: String,
    pub created_version: u64,
    /// Version of the last commit that changed the table's rows.
    pub changed_version: u64,
    pub schema_version: u32,
    /// The sort order of the rows within each segment.
    #[serde(default)]
    pub cluster_key: Vec<ColumnOrder>,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The id of the next new column; smaller ids were given out already.
    #[serde(default)]
    pub next_column: u32,
    /// Constraints on the table's rows, in words that only the layer above knows.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Absent for tables that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at_ms: Option<u64>,
}

/// The option of a table that nobody may change until it is set to something else than `true`.
const READ_ONLY: &str = "read_only";

/// The option of a table with the tier of its segments, and what it is without it.
pub const TIER_OPTION: &str = "tier";
/// How segments store columns.
pub const ENCODING_OPTION: &str = "encoding";
pub const PLAIN: &str = "plain";
const TIER_DEFAULT: &str = "pmem";
/// The option of a table with rules that move its segments when it was not used for long.
pub const TIER_POLICY_OPTION: &str = "tier_policy";

/// The option of a table whose rows are the chunks of an array: what the layer above knows of the array.
pub const ARRAY_OPTION: &str = "array";

impl TableRecord {
    pub fn is_array(&self) -> bool {
        self.options.contains_key(ARRAY_OPTION)
    }

    /// The tier in which its segments are to lie.
    pub fn tier(&self) -> &str {
        self.options.get(TIER_OPTION).map_or(TIER_DEFAULT, String::as_str)
    }

    /// Whether new segments have all columns in their physical types: the table has the option, or its rows are looked up one by one.
    pub fn has_plain_columns(&self) -> bool {
        let is_plain = self.options.get(ENCODING_OPTION).is_some_and(|value| value == PLAIN);
        is_plain || self.is_array() || self.namespace == SYSTEM_NAMESPACE
    }

    pub fn is_read_only(&self) -> bool {
        self.options.get(READ_ONLY).is_some_and(|value| value == "true")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRecord {
    #[serde(flatten)]
    pub sealed: SealedSegment,
    pub schema_version: u32,
    pub added_version: u64,
    /// The rows are in the table's cluster order.
    #[serde(default)]
    pub sorted: bool,
    /// The first version without the segment; it is kept for older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_version: Option<u64>,
    /// For a segment that was a log: the versions whose rows are known, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grown: Vec<Grown>,
}

/// The number of rows that a log had at the versions `version..until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grown {
    #[serde(rename = "v")]
    pub version: u64,
    #[serde(rename = "u")]
    pub until: u64,
    #[serde(rename = "r")]
    pub rows: u64,
    /// The time at which `version` was made.
    #[serde(rename = "t")]
    pub committed_at_ms: u64,
}

impl SegmentRecord {
    pub fn is_live_at(&self, version: u64) -> bool {
        self.added_version <= version && self.removed_version.is_none_or(|removed| version < removed)
    }

    /// How many of its rows existed at a version; `None` if that is no longer known.
    pub fn rows_at(&self, version: u64) -> Option<u64> {
        if self.grown.is_empty() {
            return Some(self.sealed.row_count);
        }
        let after = self.grown.partition_point(|grown| grown.version <= version);
        match after.checked_sub(1).map(|before| &self.grown[before]) {
            Some(grown) => (version < grown.until).then_some(grown.rows),
            None => Some(0),
        }
    }
}

/// A log takes small writes to a table; later it becomes a segment with the same id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    pub id: u64,
    pub schema_version: u32,
    pub created_version: u64,
    /// It takes no more rows and waits to be sealed.
    #[serde(default)]
    pub closed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewRecord {
    /// Of the same sequence as the ids of tables; 0 until the view is created, and in stores from before views had ids.
    #[serde(default)]
    pub id: TableId,
    pub namespace: String,
    pub name: String,
    pub created_version: u64,
    /// Absent for views that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at_ms: Option<u64>,
    /// `view` or `external`: the statement is executed again when the store is opened.
    pub kind: String,
    pub sql: String,
}

impl ViewRecord {
    /// A view that is still to be created.
    pub fn new(namespace: &str, name: &str, kind: &str, sql: &str) -> ViewRecord {
        let (namespace, name, kind, sql) = (namespace.to_string(), name.to_string(), kind.to_string(), sql.to_string());
        ViewRecord { id: 0, namespace, name, created_version: 0, created_at_ms: None, kind, sql }
    }
}

/// One per commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    pub committed_at_ms: u64,
    pub operation: String,
    /// The tables that it changed.
    #[serde(default)]
    pub tables: Vec<TableId>,
}

/// An item that only versions `from..until` need; `until` is in its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Garbage {
    pub table: TableId,
    pub from: u64,
    pub what: GarbageKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GarbageKind {
    /// The segment, its files and its deletion vectors.
    Segment(u64),
    /// The deletion vector of a segment that version `from` wrote.
    Deletions(u64),
    /// The table's record as version `from` wrote it.
    Record,
}
