//! A signal that asks work on another thread to stop.

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

    /// Completes when the signal is set.
    pub async fn wait(&self) {
        // Registered before the check, so that a call in between is not missed.
        let set = self.set.notified();
        if !self.is_set() {
            set.await;
        }
    }
}
