//! The catalog's rows. JSON, so that a field added later has a default and an old file stays readable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::segment::SealedSegment;

pub type TableId = u64;

/// One per store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreRecord {
    pub format_version: u32,
    /// Bits a program must know to read the store, and to write it.
    pub reader_features: u64,
    pub writer_features: u64,
    pub created_at_ms: u64,
    /// The last committed version; 0 before the first commit.
    pub version: u64,
    pub next_table: u64,
    pub next_segment: u64,
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
    /// The order rows are sorted by within each segment.
    #[serde(default)]
    pub cluster_key: Vec<ColumnOrder>,
    #[serde(default)]
    pub options: BTreeMap<String, String>,
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewRecord {
    pub namespace: String,
    pub name: String,
    pub created_version: u64,
    /// `view` or `external`: the statement is run again when the store is opened.
    pub kind: String,
    pub sql: String,
}

/// One per commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    pub committed_at_ms: u64,
    pub operation: String,
}
