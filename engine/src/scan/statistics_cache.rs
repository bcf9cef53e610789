//! Table statistics, computed once for each state of a table.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::{StoreError, TableData, TableId, TableSnapshot};

use super::statistics::{TableStatistics, table_statistics};
use crate::blocking::holding_up_nobody;

#[derive(Debug, Default)]
pub struct StatisticsCache {
    /// By table: a state of it, and what was found. A state is known by its address, which it keeps
    /// while it is held here: a transaction's own state has no version yet. Each table has a lock of its own: whoever comes
    /// while another computes waits for what that one finds.
    known: Mutex<HashMap<TableId, Arc<Mutex<Option<CachedStatistics>>>>>,
}

#[derive(Debug)]
struct CachedStatistics {
    state: Arc<TableData>,
    changed_version: u64,
    statistics: Arc<TableStatistics>,
}

impl StatisticsCache {
    pub fn get(&self, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
        let of_table = Arc::clone(self.known.lock().entry(table.record().id).or_default());
        let mut known = of_table.try_lock().unwrap_or_else(|| holding_up_nobody(|| of_table.lock()));
        if let Some(known) = &*known
            && Arc::ptr_eq(&known.state, table.data())
        {
            return with_tails(&known.statistics, table);
        }
        // Opens all segments that nobody has opened yet.
        let statistics = Arc::new(holding_up_nobody(|| table_statistics(table))?);
        let (state, changed_version) = (Arc::clone(table.data()), table.record().changed_version);
        *known = Some(CachedStatistics { state, changed_version, statistics: Arc::clone(&statistics) });
        drop(known);
        with_tails(&statistics, table)
    }

    /// Mappings of segments that a table has not any more are not kept for it: the disk would have the
    /// removed files as long.
    pub fn forget_all_but(&self, alive: impl Fn(TableId, u64) -> bool) {
        // One that is computed at this moment is of a table that somebody reads.
        let is_alive = |id: TableId, known: &Mutex<Option<CachedStatistics>>| match known.try_lock() {
            Some(known) => known.as_ref().is_some_and(|known| alive(id, known.changed_version)),
            None => true,
        };
        self.known.lock().retain(|id, known| is_alive(*id, known));
    }
}

/// Of a table that is read as it was: nobody else is going to ask.
pub fn statistics_of(table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
    with_tails(&Arc::new(holding_up_nobody(|| table_statistics(table))?), table)
}

/// A tail grows without a new state of its table.
fn with_tails(statistics: &Arc<TableStatistics>, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
    match table.tails().is_empty() {
        true => Ok(Arc::clone(statistics)),
        false => Ok(Arc::new(statistics.with_tails(table)?)),
    }
}
