//! The pins of readers and open transactions, which keep what they may still need.

use std::sync::Arc;

use super::{Shared, Touches};
use crate::names::TableId;

/// Keeps the files of a version.
#[derive(Debug)]
pub(crate) struct Pin {
    pub version: u64,
    shared: Arc<Shared>,
}

impl Pin {
    pub fn new(version: u64, shared: &Arc<Shared>) -> Arc<Pin> {
        shared.gc.pin(version);
        Arc::new(Pin { version, shared: Arc::clone(shared) })
    }
}

impl Pin {
    pub fn touches(&self, table: TableId) -> Arc<Touches> {
        self.shared.touches.of(table)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let (oldest, has_unlinks) = self.shared.gc.unpin(self.version);
        self.shared.moves.forget_before(oldest);
        if has_unlinks {
            self.shared.collect_files();
        }
    }
}

/// An open transaction holds it, so that the moves of rows since its begin are remembered.
#[derive(Debug)]
pub(crate) struct TransactionPin {
    version: u64,
    shared: Arc<Shared>,
}

impl TransactionPin {
    pub fn new(version: u64, shared: &Arc<Shared>) -> TransactionPin {
        shared.moves.pin_base(version);
        TransactionPin { version, shared: Arc::clone(shared) }
    }
}

impl Drop for TransactionPin {
    fn drop(&mut self) {
        self.shared.moves.unpin_base(self.version);
    }
}
