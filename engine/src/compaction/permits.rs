//! Allows one compaction of a table at a time. A compaction on demand does not wait for the one in the background: it stops that one.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::TableId;
use tokio::sync::Notify;

use super::stop_signal::StopSignal;

#[derive(Debug, Default)]
pub struct CompactionPermits {
    /// The stop signal of each holder; `None` for one that cannot be stopped.
    holders: Mutex<HashMap<TableId, Option<Arc<StopSignal>>>>,
    freed: Notify,
}

/// Released when it is dropped.
#[derive(Debug)]
pub struct CompactionPermit {
    compaction_permits: Arc<CompactionPermits>,
    table: TableId,
}

impl CompactionPermits {
    /// `None` if another compaction holds it. Setting `stop_signal` asks the holder to release it.
    pub fn try_take(self: &Arc<Self>, table: TableId, stop: &Arc<StopSignal>) -> Option<CompactionPermit> {
        self.take_now(table, Some(Arc::clone(stop)))
    }

    pub async fn take(self: &Arc<Self>, table: TableId) -> CompactionPermit {
        loop {
            // Registered before the check, so that a release in between is not missed.
            let freed = self.freed.notified();
            if let Some(table_permit) = self.take_now(table, None) {
                return table_permit;
            }
            if let Some(Some(stop)) = self.holders.lock().get(&table) {
                stop.set();
            }
            freed.await;
        }
    }

    fn take_now(self: &Arc<Self>, table: TableId, stop: Option<Arc<StopSignal>>) -> Option<CompactionPermit> {
        let mut holders = self.holders.lock();
        if holders.contains_key(&table) {
            return None;
        }
        holders.insert(table, stop);
        Some(CompactionPermit { compaction_permits: Arc::clone(self), table })
    }
}

impl Drop for CompactionPermit {
    fn drop(&mut self) {
        self.compaction_permits.holders.lock().remove(&self.table);
        self.compaction_permits.freed.notify_waiters();
    }
}
