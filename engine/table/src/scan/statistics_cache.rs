//! Caches the statistics of each table's current state.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::{StoreError, TableData, TableId, TableSnapshot};

use super::statistics::{TableStatistics, table_statistics};
use crate::blocking::holding_up_nobody;

#[derive(Debug, Default)]
pub struct StatisticsCache {
    /// By table: a state and its statistics. A state is identified by its address, which cannot be reused while the cache holds it: the
    /// state of an open transaction has no version yet. Each table has its own lock, so that concurrent callers compute the statistics
    /// once.
    entries: Mutex<HashMap<TableId, Arc<Mutex<Option<CachedStatistics>>>>>,
}

#[derive(Debug)]
struct CachedStatistics {
    state: Arc<TableData>,
    changed_version: u64,
    statistics: Arc<TableStatistics>,
}

impl StatisticsCache {
    pub fn get(&self, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
        let of_table = Arc::clone(self.entries.lock().entry(table.record().id).or_default());
        let mut entry = of_table.try_lock().unwrap_or_else(|| holding_up_nobody(|| of_table.lock()));
        if let Some(cached) = &*entry
            && Arc::ptr_eq(&cached.state, table.data())
        {
            return with_tails(&cached.statistics, table);
        }
        // This opens all segments that are not open yet.
        let statistics = Arc::new(holding_up_nobody(|| table_statistics(table))?);
        let (state, changed_version) = (Arc::clone(table.data()), table.record().changed_version);
        *entry = Some(CachedStatistics { state, changed_version, statistics: Arc::clone(&statistics) });
        drop(entry);
        with_tails(&statistics, table)
    }

    /// Drops mappings of segments that a table no longer has: otherwise removed files would still take disk space.
    pub fn forget_all_but(&self, alive: impl Fn(TableId, u64) -> bool) {
        // A locked entry is being computed for a reader, so its table exists.
        let is_alive = |id: TableId, entry: &Mutex<Option<CachedStatistics>>| match entry.try_lock() {
            Some(entry) => entry.as_ref().is_some_and(|cached| alive(id, cached.changed_version)),
            None => true,
        };
        self.entries.lock().retain(|id, entry| is_alive(*id, entry));
    }
}

/// For an earlier version of a table: nobody else will ask for these.
pub fn statistics_of(table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
    with_tails(&Arc::new(holding_up_nobody(|| table_statistics(table))?), table)
}

/// A log grows without a new state of its table.
fn with_tails(statistics: &Arc<TableStatistics>, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
    match table.tails().is_empty() {
        true => Ok(Arc::clone(statistics)),
        false => Ok(Arc::new(statistics.with_tails(table)?)),
    }
}
