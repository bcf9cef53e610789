//! Retries a statement that conflicted with a concurrent change, on the new state.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use pmem_store::StoreError;

use common::error::EngineError;

/// How often a statement is retried before it returns the conflict.
const RETRIES_MAX: u32 = 10;
/// The longest first wait; it doubles for each further retry.
const WAIT_MS_MAX: u64 = 2;

/// Only for a statement that is a transaction of its own. In a transaction of several statements the conflict appears at COMMIT, and only
/// its author knows what the statements mean together.
#[derive(Debug)]
pub struct Retry {
    autocommit: bool,
    done: u32,
}

impl Retry {
    pub fn new(autocommit: bool) -> Retry {
        Retry { autocommit, done: 0 }
    }

    /// Whether to retry the statement. Waits a moment first.
    pub async fn after(&mut self, error: &EngineError) -> bool {
        let is_conflict = matches!(error, EngineError::Store(StoreError::Conflict { .. }));
        if !self.autocommit || !is_conflict || self.done == RETRIES_MAX {
            return false;
        }
        // Jitter, so that two conflicting statements do not collide again.
        let most = WAIT_MS_MAX << self.done;
        let random = RandomState::new().hash_one(self.done);
        tokio::time::sleep(Duration::from_micros(random % (most * 1000))).await;
        self.done += 1;
        true
    }
}
