//! RESTORE TABLE: a new version of a table with the rows and columns of an older one.
//!
//! Invariant: the id of a segment that a table has lost never comes back, and its deletion vector
//! only grows, because conflicts are found by both. So a segment that was removed since, or that had
//! fewer deleted rows then, returns under a new id, with hard links to the old files.
//! Rows of a log that come back are written again; those that were added to it since are deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::change::Change;
use super::handle::Transaction;
use super::restoration::{AddedSegment, Restoration, same_deletions};
use crate::ZONE_ROWS;
use crate::error::Result;
use crate::files;
use crate::segment::{SealedSegment, link_segment_files};
use crate::snapshot::TableSnapshot;
use crate::state::{TableData, Tail};
use crate::store::Store;

impl Transaction {
    /// Restores a table to `version`: rows, columns, key and constraints; its name and
    /// options stay. Returns false if nothing had to change.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::table_at`].
    pub fn restore_table(&mut self, namespace: &str, name: &str, version: u64) -> Result<bool> {
        let expected = Arc::clone(self.state.require_table(namespace, name)?);
        let store = Store { core: Arc::clone(&self.core) };
        // Its pin keeps the old files until they have their hard links.
        let then = store.table_version(&expected.record, version)?;
        let base = self.base.version();
        let now = expected.data()?;
        let log_rows: BTreeMap<u64, u64> = now.logs.iter().map(|(id, log)| (*id, log.log.rows_at(base))).collect();
        let mut restoration = Restoration {
            table: expected.record.id,
            expected,
            log_rows,
            record: Arc::clone(then.shared_record()),
            data: Arc::clone(then.data()),
            kept_log_rows: BTreeMap::new(),
            added: Vec::new(),
        };
        restoration.find_kept_logs(&now, version);
        if restoration.is_nothing(&now, version) {
            return Ok(false);
        }
        self.core.check_writable()?;
        // If this is dropped after an error, it removes the files.
        let mut unfinished = RemoveOnDrop { store: &store, restoration: Some(restoration) };
        if let Some(restoration) = &mut unfinished.restoration {
            relink(&store, restoration, &now)?;
            rewrite(&store, restoration, &then)?;
        }
        match unfinished.restoration.take() {
            Some(restoration) => self.change(Change::RestoreTable(Arc::new(restoration))).map(|()| true),
            None => unreachable!("it is taken here alone"),
        }
    }
}

/// Removes the files of a restoration that did not become a change.
struct RemoveOnDrop<'a> {
    store: &'a Store,
    restoration: Option<Restoration>,
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(restoration) = &self.restoration {
            self.store.core.discard(restoration.table, &restoration.added());
        }
    }
}

/// Creates hard links for the segments that come back. They are durable when this returns, but not
/// visible before the commit.
fn relink(store: &Store, restoration: &mut Restoration, now: &TableData) -> Result<()> {
    let (core, table) = (&store.core, restoration.table);
    let then = Arc::clone(&restoration.data);
    for (id, segment) in &then.segments {
        if now.segments.get(id).is_some_and(|now| same_deletions(now, segment)) {
            continue;
        }
        let new_id = core.next_segment.fetch_add(1, Ordering::Relaxed);
        restoration.added.push(AddedSegment {
            sealed: SealedSegment { id: new_id, ..segment.record().sealed.clone() },
            schema_version: segment.record().schema_version,
            sorted: segment.record().sorted,
            deletions: segment.deletions.clone(),
            columns: segment.columns.clone(),
        });
        link_segment_files(segment.path(), &files::segment_path(core.path(), table, new_id), &core.poison)?;
    }
    match restoration.added.is_empty() {
        true => Ok(()),
        false => files::sync_store_dir(&files::table_dir(core.path(), table), &core.poison),
    }
}

/// Writes segments with the rows of logs that do not stay.
fn rewrite(store: &Store, restoration: &mut Restoration, then: &TableSnapshot) -> Result<()> {
    let data = Arc::clone(&restoration.data);
    let is_kept = |tail: &&Tail| restoration.kept_log_rows.contains_key(&tail.id());
    let replaced: Vec<&Tail> = then.tails().iter().filter(|tail| !is_kept(tail) && tail.row_count() > 0).collect();
    for tail in replaced {
        let Some(log) = data.logs.get(&tail.id()) else { continue };
        let mut appender = store.appender(restoration.table, tail.schema())?;
        for chunk in 0..tail.chunk_count() {
            let batch = tail.chunk(chunk)?;
            let first = (chunk * ZONE_ROWS) as u32;
            let rows = first..first + batch.num_rows() as u32;
            let is_live = |row: u32| tail.deletions().is_none_or(|deletions| !deletions.rows().contains(row));
            let live: BooleanArray = rows.map(|row| Some(is_live(row))).collect();
            appender.write(filter_record_batch(&batch, &live)?)?;
        }
        tail.check_intact()?;
        restoration.added.extend(appender.finish()?.into_iter().map(|sealed| AddedSegment {
            sealed,
            schema_version: log.record.schema_version,
            sorted: false,
            deletions: None,
            columns: log.columns.clone(),
        }));
    }
    Ok(())
}
