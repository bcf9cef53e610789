//! A sign to stop that work on another thread looks at.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct StopSignal {
    is_set: AtomicBool,
    set: Notify,
}

impl StopSignal {
    pub fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        self.set.notify_waiters();
    }

    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Returns when it is set.
    pub async fn wait(&self) {
        // Asked for before looking, so that a call in between is not missed.
        let set = self.set.notified();
        if !self.is_set() {
            set.await;
        }
    }
}
