//! The publish of a transaction: through the catalog, or, if it only adds rows to one table, through the table's log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::append::{Acknowledgement, append_record, durability_of, table_of_open_log};
use super::change::Change;
use super::materialize::{live, materialize, open_log};
use super::persist::Persisted;
use super::{Transaction, apply, persist};
use crate::access::{check_author, rights_first};
use crate::catalog::{CatalogWriter, TableId};
use crate::clock::now_ms;
use crate::error::{Result, StoreError};
use crate::log::{PreparedRecord, TailLog};
use crate::names::SYSTEM_NAMESPACE;
use crate::shared::Pin;
use crate::snapshot::Snapshot;
use crate::state::CatalogState;
use crate::store::StoreCore;
use crate::versions::keep_named;

/// Two transactions that make the same table of the store's own conflict: the second one finds it when it runs again.
fn own_table_conflict(change: &Change, error: StoreError) -> StoreError {
    let namespace = match change {
        Change::CreateNamespace { name } => name,
        Change::CreateTable { namespace, .. } => namespace,
        _ => return error,
    };
    match error {
        StoreError::AlreadyExists { name, .. } if namespace == SYSTEM_NAMESPACE => StoreError::Conflict { table: name },
        other => other,
    }
}

impl Transaction {
    /// Returns the new version once it is visible, and durable, unless all that the transaction did was to add a few rows to one table
    /// with [`Durability::Async`](crate::Durability::Async). A transaction without changes commits
    /// nothing.
    pub fn commit(mut self, operation: &str) -> Result<u64> {
        if self.changes.is_empty() {
            return Ok(self.base.version());
        }
        let core = Arc::clone(&self.core);
        core.check_writable()?;
        self.changes.iter().filter_map(Change::written_table).for_each(|table| core.shared.touches.of(table).set_changed());
        let prepared = self.prepare()?;
        self.check_ahead(&core)?;
        let commits = core.lock_commits()?;
        if let Some((log, mut record)) = prepared
            && let Some(appended) = self.append(&core, &log, &mut record)?
        {
            drop(commits);
            return appended.wait();
        }
        core.publisher.drain()?;
        core.shared.logs.flush()?;
        let current = core.snapshot();
        let version = current.version() + 1;
        let state = self.becoming(&core, &current, version)?;
        let replaced = self.changes.iter().filter_map(|change| match change {
            Change::ReplaceSegments(replacement) => Some(Arc::clone(replacement)),
            _ => None,
        });
        let replaced = replaced.collect();
        let persisted = self.publish(&core, &current.state, state, version, operation)?;
        core.shared.moves.keep(version, replaced);
        drop((commits, current));
        core.shared.defer_unlink(version, &persisted.unnamed, &persisted.unnamed_logs);
        persisted.unnamed_logs.iter().for_each(|(table, log)| core.shared.logs.remove(*table, *log));
        core.shared.collect_files();
        Ok(version)
    }

    /// Runs the checks before other commits have to wait for them. With the commits locked they run again, on what others have committed.
    fn check_ahead(&self, core: &StoreCore) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let current = core.snapshot();
        self.becoming(core, &current, current.version() + 1).map(drop)
    }

    /// The state that the store is about to have. A user who may not make the changes learns nothing of their conflicts.
    fn becoming(&self, core: &StoreCore, current: &Snapshot, version: u64) -> Result<CatalogState> {
        let mut state = current.state.clone();
        for change in &self.changes {
            apply::apply(change, &mut state, version, &core.shared)
                .map_err(|error| rights_first(self.author.as_ref(), own_table_conflict(change, error)))?;
        }
        if let Some(author) = &self.author {
            check_author(author.as_ref(), &current.state, &state)?;
        }
        self.check(core, &state, version)?;
        Ok(state)
    }

    /// Runs the checks on the state that the store is about to have.
    fn check(&self, core: &StoreCore, state: &CatalogState, version: u64) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let becoming = Arc::new(Snapshot::new(state.clone(), Pin::new(version, &core.shared)));
        self.checks.iter().try_for_each(|check| check(&becoming))
    }

    /// The record of a transaction that only adds rows to a table with an open log. It is encoded before
    /// the commits are locked.
    fn prepare(&self) -> Result<Option<(Arc<TailLog>, PreparedRecord)>> {
        let [Change::AppendRows { table, .. }] = self.changes.as_slice() else { return Ok(None) };
        let Some(table) = self.state.table_by_id(*table) else { return Ok(None) };
        // Rows of the store's own tables have ids of objects, which are given to nothing else after a crash.
        let has_new_ids = self.core.next_table.load(Ordering::Relaxed) > self.core.durable_next_table.load(Ordering::Relaxed);
        if has_new_ids && table.record.namespace == SYSTEM_NAMESPACE {
            return Ok(None);
        }
        let data = table.data()?;
        let Some(rows) = live(&data.pending)? else { return Ok(None) };
        let Some(open) = open_log(table, &data, &rows) else { return Ok(None) };
        Ok(Some((Arc::clone(&open.log), open.log.prepare(&rows)?)))
    }

    /// Appends the record as its own version; `None` if the catalog has to change for it. The commits
    /// are locked.
    fn append(&mut self, core: &Arc<StoreCore>, log: &Arc<TailLog>, record: &mut PreparedRecord) -> Result<Option<Acknowledgement>> {
        let current = core.publisher.state();
        let Some(table) = table_of_open_log(log, &current)? else { return Ok(None) };
        if let Some(author) = &self.author {
            author.check_changes(&BTreeSet::from([table.record.id])).map_err(StoreError::Denied)?;
        }
        let durability = self.durability.unwrap_or_else(|| durability_of(&table.record));
        if !self.checks.is_empty() {
            let (mut becoming, version) = (current.clone(), core.publisher.next_version());
            self.changes.iter().try_for_each(|change| apply::apply(change, &mut becoming, version, &core.shared))?;
            self.check(core, &becoming, version)?;
        }
        let appended = append_record(core, log, record, durability)?;
        if appended.is_some() {
            self.changes.clear();
        }
        Ok(appended)
    }

    /// Publishes through the catalog, in one transaction of it.
    fn publish(
        &mut self,
        core: &StoreCore,
        current: &CatalogState,
        mut state: CatalogState,
        version: u64,
        operation: &str,
    ) -> Result<Persisted> {
        let appended = materialize(core, current, &mut state, version)?;
        let mut writer = CatalogWriter::begin(&core.database)?;
        keep_named(&writer, current, &state, &core.shared)?;
        let mut persisted = persist::persist(&mut writer, current, &state, version)?;
        for change in &self.changes {
            if let Change::RequireReaderFeatures(features) = change {
                writer.store.reader_features |= features;
            }
        }
        let access_before = core.access();
        let access = access_before.following(current, &state, self.author.as_deref().map(|author| author.name()));
        if let Some(access) = &access {
            access.persist(&mut writer, &access_before)?;
        }
        let oldest = match writer.store.retention_ms {
            0 => version,
            retention_ms => writer.version_at(now_ms().saturating_sub(retention_ms))?,
        };
        let named: Vec<u64> = state.snapshots.values().map(|snapshot| snapshot.version).collect();
        let expired: Vec<(TableId, u64)> = writer.expire(oldest, &named)?;
        persisted.unnamed.extend(expired);
        writer.store.next_segment = core.next_segment.load(Ordering::Relaxed);
        let next_table = core.next_table.load(Ordering::Relaxed);
        writer.store.next_table = next_table;
        appended.flush()?;
        persisted.unnamed.extend(self.changes.iter().flat_map(|change| change.left_out(&state)));
        // From here on the files and records may belong to the catalog, even if an error or a panic leaves the outcome unknown: then
        // nothing is undone, and nothing more is written until the store is opened again.
        self.changes.clear();
        appended.keep(core);
        writer.commit(version, operation, std::mem::take(&mut persisted.changed))?;
        core.durable_next_table.fetch_max(next_table, Ordering::Relaxed);
        // This comes before the new objects are visible, so that they have an owner then.
        if let Some(access) = access {
            core.set_access(access);
        }
        core.publisher.publish(state, version);
        Ok(persisted)
    }
}
