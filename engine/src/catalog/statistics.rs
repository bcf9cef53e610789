//! Table statistics, computed once for each state of a table.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::{StoreError, TableId, TableSnapshot};

use crate::scan::{TableStatistics, table_statistics};

#[derive(Debug, Default)]
pub struct StatisticsCache {
    /// By table: the version that last changed it, and what was found.
    known: Mutex<HashMap<TableId, (u64, Arc<TableStatistics>)>>,
}

impl StatisticsCache {
    pub fn get(&self, table: &TableSnapshot) -> Result<Arc<TableStatistics>, StoreError> {
        let (id, version) = (table.record().id, table.record().changed_version);
        if let Some((known_version, statistics)) = self.known.lock().get(&id)
            && *known_version == version
        {
            return Ok(Arc::clone(statistics));
        }
        let statistics = Arc::new(table_statistics(table)?);
        self.known.lock().insert(id, (version, Arc::clone(&statistics)));
        Ok(statistics)
    }

    /// A dropped table's mappings are not kept for it.
    pub fn forget_all_but(&self, alive: impl Fn(TableId) -> bool) {
        self.known.lock().retain(|id, _| alive(*id));
    }
}
