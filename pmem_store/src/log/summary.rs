//! How far a log goes, for people and for the note of how the store was closed.

use serde::{Deserialize, Serialize};

use crate::names::TableId;

/// A log as it is at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    pub table: TableId,
    /// The last one of a table takes its new rows.
    pub id: u64,
    pub row_count: u64,
    pub size_bytes: u64,
}

/// A log that was not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogEnd {
    pub table: TableId,
    pub id: u64,
    /// Where its last record ends.
    pub end: u64,
    pub rows: u64,
}
