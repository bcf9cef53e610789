//! What only older versions need, and when it can be removed.
//!
//! Invariant: what versions `from..until` need is removed only when every version that can still
//! be read is `until` or later, or before `from`.

use redb::ReadableTable;

use super::database::{GARBAGE, VERSIONS};
use super::records::{Garbage, GarbageKind, VersionRecord};
use super::write::CatalogWriter;
use crate::error::Result;
use crate::names::TableId;

impl CatalogWriter {
    /// No version needs this from `until` on.
    pub fn add_garbage(&mut self, until: u64, garbage: &Garbage) -> Result<()> {
        let fail = |error: redb::StorageError| self.database.error(error);
        let table = self.transaction.open_table(GARBAGE).map_err(|error| self.database.error(error))?;
        let last = table.range((until, 0)..=(until, u64::MAX)).map_err(fail)?.next_back().transpose().map_err(fail)?;
        let number = last.map_or(0, |(key, _)| key.value().1 + 1);
        drop(table);
        self.put(GARBAGE, (until, number), garbage)
    }

    /// The last version that existed at `time_ms`; the versions before it are older.
    pub fn version_at(&self, time_ms: u64) -> Result<u64> {
        let fail = |error: redb::StorageError| self.database.error(error);
        let table = self.transaction.open_table(VERSIONS).map_err(|error| self.database.error(error))?;
        let mut last = self.store.oldest_version;
        for row in table.range(self.store.oldest_version..).map_err(fail)? {
            let (version, record) = row.map_err(fail)?;
            let record: VersionRecord = self.database.decode(VERSIONS, &version.value(), record.value())?;
            if record.committed_at_ms > time_ms {
                break;
            }
            last = version.value();
        }
        Ok(last)
    }

    /// Makes `oldest` the oldest version, except for the `named` ones. Returns the segments whose files
    /// no version needs any more.
    pub fn expire(&mut self, oldest: u64, named: &[u64]) -> Result<Vec<(TableId, u64)>> {
        self.store.oldest_version = self.store.oldest_version.max(oldest);
        self.forget_versions(oldest, named)?;
        let mut segments = Vec::new();
        for garbage in self.take_garbage(oldest, named)? {
            match garbage.what {
                GarbageKind::Segment(segment) => {
                    self.remove_segment(garbage.table, segment)?;
                    segments.push((garbage.table, segment));
                }
                GarbageKind::Deletions(segment) => self.remove_deletions(garbage.table, segment, garbage.from)?,
                GarbageKind::Record => self.remove_history(garbage.table, garbage.from)?,
            }
        }
        Ok(segments)
    }

    fn forget_versions(&self, oldest: u64, named: &[u64]) -> Result<()> {
        let mut table = self.transaction.open_table(VERSIONS).map_err(|error| self.database.error(error))?;
        table.retain_in(..oldest, |version, _| named.contains(&version)).map_err(|error| self.database.error(error))
    }

    fn take_garbage(&self, oldest: u64, named: &[u64]) -> Result<Vec<Garbage>> {
        let fail = |error: redb::StorageError| self.database.error(error);
        let mut table = self.transaction.open_table(GARBAGE).map_err(|error| self.database.error(error))?;
        let mut entries = Vec::new();
        for row in table.range(..=(oldest, u64::MAX)).map_err(fail)? {
            let (key, value) = row.map_err(fail)?;
            let (until, number) = key.value();
            let garbage: Garbage = self.database.decode(GARBAGE, &key.value(), value.value())?;
            if !named.iter().any(|version| (garbage.from..until).contains(version)) {
                entries.push(((until, number), garbage));
            }
        }
        for (key, _) in &entries {
            table.remove(*key).map_err(fail)?;
        }
        Ok(entries.into_iter().map(|(_, garbage)| garbage).collect())
    }
}
