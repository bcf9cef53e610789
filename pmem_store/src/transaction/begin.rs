//! Begins transactions.

use std::sync::Arc;

use super::Transaction;
use crate::error::Result;
use crate::snapshot::Snapshot;
use crate::store::Store;

impl Store {
    /// A transaction on the last committed version. It neither waits nor blocks others.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_at(self.core.snapshot())
    }

    /// A transaction that will change nothing; it also works on a store that is open read-only.
    pub fn begin_read_only(&self) -> Transaction {
        Transaction::new(Arc::clone(&self.core), self.core.snapshot())
    }

    /// A transaction on an older version: for changes that were found by reading that version.
    pub fn begin_at(&self, base: Arc<Snapshot>) -> Result<Transaction> {
        self.core.check_writable()?;
        self.core.mark_dirty()?;
        Ok(Transaction::new(Arc::clone(&self.core), base))
    }
}
