//! Table statistics, computed once for each state of a table.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::{StoreError, TableData, TableId, TableSnapshot};

use crate::scan::{TableStatistics, table_statistics};

#[derive(Debug, Default)]
pub struct StatisticsCache {
    /// By table: a state of it, and what was found. A state is known by its address, which it keeps
    /// while it is held here: a transaction's own state has no version yet.
    known: Mutex<HashMap<TableId, Known>>,
}

#[derive(Debug)]
struct Known {
    state: Arc<TableData>,
    changed_version: u64,
    statistics: Arc<TableStatistics>,
}

impl StatisticsCache {
    pub fn get(&self, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
        let id = table.record().id;
        if let Some(known) = self.known.lock().get(&id)
            && Arc::ptr_eq(&known.state, table.data())
        {
            return with_tails(&known.statistics, table);
        }
        let statistics = Arc::new(table_statistics(table)?);
        let (state, changed_version) = (Arc::clone(table.data()), table.record().changed_version);
        self.known.lock().insert(id, Known { state, changed_version, statistics: Arc::clone(&statistics) });
        with_tails(&statistics, table)
    }

    /// Mappings of segments that a table has not any more are not kept for it: the disk would have the
    /// removed files as long.
    pub fn forget_all_but(&self, alive: impl Fn(TableId, u64) -> bool) {
        self.known.lock().retain(|id, known| alive(*id, known.changed_version));
    }
}

/// Of a table that is read as it was: nobody else is going to ask.
pub fn statistics_of(table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
    with_tails(&Arc::new(table_statistics(table)?), table)
}

/// A tail grows without a new state of its table.
fn with_tails(statistics: &Arc<TableStatistics>, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
    match table.tails().is_empty() {
        true => Ok(Arc::clone(statistics)),
        false => Ok(Arc::new(statistics.with_tails(table)?)),
    }
}
