//! Older versions of a store: reading them, keeping them, and what they cost.
//!
//! Invariant: a version can be read if it is not older than the oldest kept version, or has a name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::catalog::{CatalogReader, CatalogWriter, NamedSnapshot, TableId, TableRecord, VersionRecord};
use crate::clock::now_ms;
use crate::error::{Result, StoreError};
use crate::shared::{Pin, Shared};
use crate::snapshot::TableSnapshot;
use crate::state::{CatalogState, read_table};
use crate::store::Store;
use crate::tiers::Tier;

/// A version that can be read, and what is kept for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionInfo {
    pub version: u64,
    pub committed_at_ms: u64,
    pub operation: String,
    /// The current names of the tables that it changed; dropped tables have none.
    pub tables: Vec<String>,
    /// Bytes of the segments that no later version needs: they are kept for this version and earlier ones
    /// alone, and removed when all of those have expired.
    pub kept_bytes: u64,
}

/// An earlier version of a table, which is near.
#[derive(Debug, Clone)]
pub struct StagedVersion {
    pub table: TableSnapshot,
    /// How long ago the next version was made.
    pub staleness_ms: u64,
}

impl VersionInfo {
    fn new(version: u64, committed_at_ms: u64, operation: String, tables: Vec<String>) -> VersionInfo {
        VersionInfo { version, committed_at_ms, operation, tables, kept_bytes: 0 }
    }
}

impl Store {
    /// The table that has this name now, as it was at `version`; `None` if there is no such table.
    ///
    /// # Errors
    ///
    /// The version is not kept any more, is yet to come, or is older than the table.
    pub fn table_at(&self, namespace: &str, name: &str, version: u64) -> Result<Option<TableSnapshot>> {
        match self.snapshot()?.state.table(namespace, name) {
            Some(table) => self.table_version(&table.record, version).map(Some),
            None => Ok(None),
        }
    }

    /// The table of this record, whatever its name is now, as it was at `version`.
    pub fn table_version(&self, table: &TableRecord, version: u64) -> Result<TableSnapshot> {
        let current = self.snapshot()?;
        let before = || StoreError::BeforeTable { table: table.name.clone(), version, created: table.created_version };
        if version == current.version()
            && let Some(entry) = current.state.table_by_id(table.id)
        {
            return TableSnapshot::new(Arc::new(entry.record.clone()), entry.data()?, Arc::clone(&current.pin));
        }
        // It is pinned before the lookup, so that files of versions that expire after this line stay.
        let pin = Pin::new(version, &self.core.shared);
        let logs = self.core.shared.logs.of_table(table.id);
        let reader = CatalogReader::begin(&self.core.database)?;
        check_kept(&reader, version, current.version())?;
        if version < table.created_version {
            return Err(before());
        }
        if current.state.table_by_id(table.id).is_none() {
            // The table was made by an open transaction, or dropped since the lookup.
            return Err(if table.created_version > current.version() { before() } else { StoreError::TableGone });
        }
        // A record without a history has not changed.
        let mut record = reader.table_at(table.id, version)?.unwrap_or_else(|| table.clone());
        record.changed_version = version;
        let data = read_table(&reader, &record, version, &self.core.shared, logs)?;
        TableSnapshot::new(Arc::new(record), Arc::new(data), pin)
    }

    /// The version that was the last one at a time, in milliseconds since 1970 (UTC), as far as the
    /// catalog and the logs know. A table may know more: [`Store::table_version_at`].
    pub fn version_at(&self, time_ms: u64) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let reader = CatalogReader::begin(&self.core.database)?;
        let mut times = catalog_times(&reader)?;
        for table in snapshot.state.tables.iter() {
            times.extend(self.log_times(table.record.id)?);
        }
        last_at(times, reader.store()?.oldest_version, snapshot.version(), time_ms)
    }

    /// A version at which a table had the rows that it had at a time. For small writes that were combined
    /// it may be a slightly earlier one.
    pub fn table_version_at(&self, table: &TableRecord, time_ms: u64) -> Result<u64> {
        let newest = self.snapshot()?.version();
        let reader = CatalogReader::begin(&self.core.database)?;
        let mut times = catalog_times(&reader)?;
        times.extend(self.log_times(table.id)?);
        for segment in reader.segments(table.id)? {
            times.extend(segment.grown.iter().map(|grown| (grown.version, grown.committed_at_ms)));
        }
        last_at(times, reader.store()?.oldest_version, newest, time_ms)
    }

    /// The last version of a table of which nothing would have to be fetched from an object store; `None` if that is this one, or if there is none
    /// with rows and the same columns.
    pub fn last_staged_version(&self, table: &TableSnapshot) -> Result<Option<StagedVersion>> {
        let mut staged = table.clone();
        let mut next_version = None;
        // What lies there lies in every version since it was added, as far back as this loop has come.
        let first_far = |table: &TableSnapshot| {
            let far = table.segments().iter().filter(|segment| segment.tier() == Tier::Object);
            far.map(|segment| segment.record().added_version).min()
        };
        while let Some(added) = first_far(&staged) {
            next_version = Some(added);
            staged = match self.table_version(table.record(), added.saturating_sub(1)) {
                Ok(staged) => staged,
                Err(
                    StoreError::NoSuchVersion { .. }
                    | StoreError::BeforeTable { .. }
                    | StoreError::BetweenVersions { .. }
                    | StoreError::TableGone,
                ) => return Ok(None),
                Err(error) => return Err(error),
            };
        }
        // An empty version is what the table was created with, and nobody means that one.
        let is_meant = staged.row_count() > 0 && staged.record().schema_version == table.record().schema_version;
        let Some(next_version) = next_version.filter(|_| is_meant) else { return Ok(None) };
        let reader = CatalogReader::begin(&self.core.database)?;
        let mut times = catalog_times(&reader)?;
        times.extend(self.log_times(table.record().id)?);
        let followed_ms = times.into_iter().filter(|(version, _)| *version >= next_version).map(|(_, made_ms)| made_ms).min();
        // At least 1, because 0 is the newest version.
        let staleness_ms = now_ms().saturating_sub(followed_ms.unwrap_or(0)).max(1);
        Ok(Some(StagedVersion { table: staged, staleness_ms }))
    }

    fn log_times(&self, table: TableId) -> Result<Vec<(u64, u64)>> {
        let mut times = Vec::new();
        for log in self.core.shared.logs.of_table(table) {
            times.extend(log.log.commits()?.into_iter().map(|commit| (commit.version, commit.committed_at_ms)));
        }
        Ok(times)
    }

    /// Every version that can be read, oldest first; small writes that were combined long ago are
    /// not listed individually.
    pub fn versions(&self) -> Result<Vec<VersionInfo>> {
        let snapshot = self.snapshot()?;
        let reader = CatalogReader::begin(&self.core.database)?;
        let tables = snapshot.tables()?;
        let names: HashMap<u64, String> = tables.iter().map(|table| (table.id, format!("{}.{}", table.namespace, table.name))).collect();
        let mut infos: BTreeMap<u64, VersionInfo> = BTreeMap::new();
        for (version, record) in reader.versions()? {
            let tables = record.tables.iter().filter_map(|id| names.get(id).cloned()).collect();
            infos.insert(version, VersionInfo::new(version, record.committed_at_ms, record.operation, tables));
        }
        let oldest = reader.store()?.oldest_version;
        let named: Vec<u64> = reader.named_snapshots()?.into_iter().map(|named| named.version).collect();
        let is_kept = |version: u64| version <= snapshot.version() && (version >= oldest || named.contains(&version));
        let mut removed: Vec<(u64, u64)> = Vec::new();
        for table in &tables {
            let mut times = self.log_times(table.id)?;
            for segment in reader.segments(table.id)? {
                times.extend(segment.grown.iter().map(|grown| (grown.version, grown.committed_at_ms)));
                let size_bytes = segment.sealed.size_bytes + segment.sealed.side_size_bytes;
                removed.extend(segment.removed_version.map(|version| (version, size_bytes)));
            }
            for (version, time_ms) in times.into_iter().filter(|(version, _)| is_kept(*version)) {
                let inserted = || VersionInfo::new(version, time_ms, "INSERT".into(), names.get(&table.id).cloned().into_iter().collect());
                infos.entry(version).or_insert_with(inserted);
            }
        }
        for (version, size_bytes) in removed {
            if let Some((_, last)) = infos.range_mut(..version).next_back() {
                last.kept_bytes += size_bytes;
            }
        }
        Ok(infos.into_values().collect())
    }

    /// How long a version stays readable after the next one was made, in milliseconds.
    pub fn retention_ms(&self) -> Result<u64> {
        Ok(CatalogReader::begin(&self.core.database)?.store()?.retention_ms)
    }

    /// Changes how long versions stay; older ones expire at once.
    pub fn set_retention_ms(&self, retention_ms: u64) -> Result<()> {
        self.expire(Some(retention_ms), |writer| match retention_ms {
            0 => Ok(u64::MAX),
            _ => writer.version_at(now_ms().saturating_sub(retention_ms)),
        })
    }

    /// Expires the versions before `version`, except for the named ones.
    pub fn expire_versions_before(&self, version: u64) -> Result<()> {
        self.expire(None, |_| Ok(version))
    }

    /// Expires the versions that had a successor at a time, except for the named ones.
    pub fn expire_versions_older_than(&self, time_ms: u64) -> Result<()> {
        self.expire(None, |writer| writer.version_at(time_ms))
    }

    /// This makes no new version, because the visible content does not change.
    fn expire(&self, retention_ms: Option<u64>, oldest: impl FnOnce(&CatalogWriter) -> Result<u64>) -> Result<()> {
        let core = &self.core;
        core.check_writable()?;
        core.mark_dirty()?;
        let one_at_a_time = core.lock_commits()?;
        let current = core.snapshot();
        let mut writer = CatalogWriter::begin(&core.database)?;
        let oldest = oldest(&writer)?.min(current.version());
        let named: Vec<u64> = current.state.snapshots.values().map(|snapshot| snapshot.version).collect();
        let segments = writer.expire(oldest, &named)?;
        if let Some(retention_ms) = retention_ms {
            writer.store.retention_ms = retention_ms;
        }
        writer.commit_unversioned("an expiry of versions")?;
        core.shared.defer_unlink(current.version(), &segments, &[]);
        drop((one_at_a_time, current));
        core.shared.collect_files();
        Ok(())
    }
}

fn check_kept(reader: &CatalogReader, version: u64, newest: u64) -> Result<()> {
    let oldest = reader.store()?.oldest_version;
    if (oldest..=newest).contains(&version) {
        return Ok(());
    }
    let named = reader.named_snapshots()?;
    match named.iter().any(|snapshot| snapshot.version == version) {
        true => Ok(()),
        false => Err(StoreError::NoSuchVersion { version, oldest, newest, named }),
    }
}

/// The versions of the catalog and when they were made.
fn catalog_times(reader: &CatalogReader) -> Result<Vec<(u64, u64)>> {
    Ok(reader.versions()?.into_iter().map(|(version, record)| (version, record.committed_at_ms)).collect())
}

/// The greatest of the versions `oldest..=newest` that was made by `time_ms`. Nothing is known of the time before the
/// oldest: named versions may have had successors that are gone.
fn last_at(mut times: Vec<(u64, u64)>, oldest: u64, newest: u64, time_ms: u64) -> Result<u64> {
    times.retain(|(version, _)| (oldest..=newest).contains(version));
    let version = times.iter().filter(|(_, made_ms)| *made_ms <= time_ms).map(|(version, _)| *version).max();
    version.ok_or_else(|| StoreError::BeforeHistory { oldest_ms: times.iter().min().map(|(_, made_ms)| *made_ms) })
}

/// Keeps what new names in `becoming` need. An expired version cannot be kept
/// by naming it; so this must run before more versions expire.
pub(crate) fn keep_named(writer: &CatalogWriter, before: &CatalogState, becoming: &CatalogState, shared: &Shared) -> Result<()> {
    if Arc::ptr_eq(&before.snapshots, &becoming.snapshots) {
        return Ok(());
    }
    let store = &writer.store;
    for new in becoming.snapshots.values().filter(|new| before.snapshots.get(&new.name) != Some(*new)) {
        let version = new.version;
        if version < store.oldest_version && !before.snapshots.values().any(|snapshot| snapshot.version == version) {
            let named: Vec<NamedSnapshot> = before.snapshots.values().cloned().collect();
            let (oldest, newest) = (store.oldest_version, store.version);
            return Err(StoreError::NoSuchVersion { version, oldest, newest, named });
        }
        // After a log is sealed, nothing else knows the versions that only it has.
        let logs =
            becoming.tables.iter().flat_map(|table| shared.logs.of_table(table.record.id).into_iter().map(|log| (table.record.id, log)));
        for (table, log) in logs {
            if let Some(commit) = log.log.commits()?.into_iter().find(|commit| commit.version == version) {
                let record = VersionRecord { committed_at_ms: commit.committed_at_ms, operation: "INSERT".into(), tables: vec![table] };
                writer.note_version(version, &record)?;
                break;
            }
        }
    }
    Ok(())
}
