//! The transactions that are open, of all sessions of an engine, for those who want to see them.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use pmem_store::Author;

use super::scope::TransactionSlot;

#[derive(Debug, Default)]
pub struct OpenTransactions {
    slots: Mutex<Vec<Weak<TransactionSlot>>>,
    next_id: Arc<AtomicU64>,
}

/// What can be told of a transaction begun with BEGIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// From 1, within this process.
    pub id: u64,
    pub started_at_ms: u64,
    pub base_version: u64,
    pub changes: u64,
    pub read_only: bool,
    pub failed: bool,
}

impl OpenTransactions {
    /// The place for the transaction of a new session; seen until it is dropped.
    /// `author` is the user it belongs to.
    pub fn new_slot(&self, author: Option<Arc<dyn Author>>) -> Arc<TransactionSlot> {
        let slot = Arc::new(TransactionSlot::new(Arc::clone(&self.next_id), author));
        let mut slots = self.slots.lock();
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
    }

    pub fn slots(&self) -> Vec<Arc<TransactionSlot>> {
        self.slots.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
