//! What readers and open transactions hold, so that what they may still need stays.

use std::sync::Arc;

use super::Shared;

/// Keeps a version's files in place.
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

impl Drop for Pin {
    fn drop(&mut self) {
        let (oldest, has_unlinks) = self.shared.gc.unpin(self.version);
        self.shared.moves.forget_before(oldest);
        if has_unlinks {
            self.shared.collect_files();
        }
    }
}

/// Held by an open transaction: where rows went since it began stays known.
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
