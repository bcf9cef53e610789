//! Transactions begin here.

use std::sync::Arc;

use super::Transaction;
use crate::error::Result;
use crate::snapshot::Snapshot;
use crate::store::Store;

impl Store {
    /// A transaction on the last committed version. It waits for nobody and holds up nobody.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_at(self.core.snapshot())
    }

    /// A transaction that is not going to change anything, also of a store that is only read.
    pub fn begin_read_only(&self) -> Transaction {
        Transaction::new(Arc::clone(&self.core), self.core.snapshot())
    }

    /// A transaction on an older version: for changes found by reading that one.
    pub fn begin_at(&self, base: Arc<Snapshot>) -> Result<Transaction> {
        self.core.check_writable()?;
        self.core.mark_dirty()?;
        Ok(Transaction::new(Arc::clone(&self.core), base))
    }
}
