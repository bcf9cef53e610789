//! The open transactions of all sessions of an engine, for monitoring.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use pmem_store::Author;

use super::slot::TransactionSlot;

#[derive(Debug, Default)]
pub struct OpenTransactions {
    slots: Mutex<Vec<Weak<TransactionSlot>>>,
    next_id: Arc<AtomicU64>,
}

impl OpenTransactions {
    /// The slot for the transactions of a new session; it is listed until it is dropped. `author` is the session's user.
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
