//! One compaction of a table at a time. One that somebody asked for does not wait for the
//! background: it has it stop.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::TableId;
use tokio::sync::Notify;

use super::stop::Stop;

#[derive(Debug, Default)]
pub struct Turns {
    /// With what stops the one who has it; None for one that cannot be stopped.
    taken: Mutex<HashMap<TableId, Option<Arc<Stop>>>>,
    freed: Notify,
}

/// Given back when it is dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    table: TableId,
}

impl Turns {
    /// None if somebody else has it. Others may set `stop` to get it.
    pub fn try_take(self: &Arc<Self>, table: TableId, stop: &Arc<Stop>) -> Option<Turn> {
        self.take_now(table, Some(Arc::clone(stop)))
    }

    pub async fn take(self: &Arc<Self>, table: TableId) -> Turn {
        loop {
            // Asked for before looking, so that one given back in between is not missed.
            let freed = self.freed.notified();
            if let Some(turn) = self.take_now(table, None) {
                return turn;
            }
            if let Some(Some(stop)) = self.taken.lock().get(&table) {
                stop.set();
            }
            freed.await;
        }
    }

    fn take_now(self: &Arc<Self>, table: TableId, stop: Option<Arc<Stop>>) -> Option<Turn> {
        let mut taken = self.taken.lock();
        if taken.contains_key(&table) {
            return None;
        }
        taken.insert(table, stop);
        Some(Turn { turns: Arc::clone(self), table })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.taken.lock().remove(&self.table);
        self.turns.freed.notify_waiters();
    }
}
