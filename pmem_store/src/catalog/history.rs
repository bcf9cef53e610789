//! Reads older versions.

use redb::ReadableTable;

use super::database::{DELETIONS, HISTORY, LOGS, SNAPSHOTS, VERSIONS};
use super::read::CatalogReader;
use super::records::{LogRecord, TableRecord, VersionRecord};
use super::sum;
use crate::deletions::Deletions;
use crate::error::Result;
use crate::names::{NamedSnapshot, TableId};

impl CatalogReader {
    /// The table's record at a version: the last one that was written at or before it.
    pub fn table_at(&self, table: TableId, version: u64) -> Result<Option<TableRecord>> {
        self.guarded(|| {
            let Some(history) = self.open_new(HISTORY)? else { return Ok(None) };
            let rows = history.range((table, 0)..=(table, version)).map_err(|error| self.error(error))?;
            let last = { rows }.next_back().transpose().map_err(|error| self.error(error))?;
            last.map(|row| self.record(HISTORY, Ok(row))).transpose()
        })
    }

    /// The deleted rows of a segment at a version.
    pub fn deletions_at(&self, table: TableId, segment: u64, version: u64) -> Result<Option<Deletions>> {
        self.guarded(|| {
            let Some(deletions) = self.open_new(DELETIONS)? else { return Ok(None) };
            let rows = deletions.range((table, segment, 0)..=(table, segment, version)).map_err(|error| self.error(error))?;
            let last = { rows }.next_back().transpose().map_err(|error| self.error(error))?;
            let Some((key, bytes)) = last else { return Ok(None) };
            let bytes = sum::verified_bytes(DELETIONS, &key.value(), bytes.value()).map_err(|what| self.damaged(what))?;
            Deletions::from_bytes(bytes).map(Some).map_err(|error| self.error(error))
        })
    }

    /// Every version with a record, oldest first.
    pub fn versions(&self) -> Result<Vec<(u64, VersionRecord)>> {
        self.guarded(|| {
            let versions = self.transaction.open_table(VERSIONS).map_err(|error| self.error(error))?;
            let rows = versions.iter().map_err(|error| self.error(error))?;
            rows.map(|row| {
                let (version, record) = row.map_err(|error| self.error(error))?;
                Ok((version.value(), self.decode(VERSIONS, &version.value(), record.value())?))
            })
            .collect()
        })
    }

    /// The logs of all tables.
    pub fn logs(&self) -> Result<Vec<(TableId, LogRecord)>> {
        self.guarded(|| {
            let Some(logs) = self.open_new(LOGS)? else { return Ok(Vec::new()) };
            let rows = logs.iter().map_err(|error| self.error(error))?;
            rows.map(|row| {
                let (key, record) = row.map_err(|error| self.error(error))?;
                Ok((key.value().0, self.decode(LOGS, &key.value(), record.value())?))
            })
            .collect()
        })
    }

    pub fn has_log(&self, table: TableId, log: u64) -> Result<bool> {
        self.guarded(|| {
            let Some(logs) = self.open_new(LOGS)? else { return Ok(false) };
            Ok(logs.get((table, log)).map_err(|error| self.error(error))?.is_some())
        })
    }

    pub fn named_snapshots(&self) -> Result<Vec<NamedSnapshot>> {
        self.all(SNAPSHOTS)
    }
}
