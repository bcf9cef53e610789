//! The version that readers see: versions become visible in order, each when it is done.
//!
//! Invariant: a version is visible only when all earlier ones are. So a snapshot never has a commit and
//! lacks an earlier one, although commits wait for different files.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::error::Result;
use crate::region::PoisonFlag;
use crate::shared::{Pin, Shared};
use crate::snapshot::Snapshot;
use crate::state::CatalogState;

/// A failed flush wakes no waiter, so waiters check again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Publisher {
    poison: Arc<PoisonFlag>,
    inner: Mutex<PublisherState>,
    advanced: Condvar,
}

#[derive(Debug)]
struct PublisherState {
    state: CatalogState,
    /// The last visible version.
    version: u64,
    /// Versions that are assigned but not visible yet, and whether each is done. Ascending without a gap.
    waiting: VecDeque<(u64, bool)>,
    /// The snapshot of the last visible version, made at the first request.
    snapshot: Option<Arc<Snapshot>>,
}

impl Publisher {
    pub fn new(state: CatalogState, version: u64, poison: &Arc<PoisonFlag>) -> Publisher {
        let inner = PublisherState { state, version, waiting: VecDeque::new(), snapshot: None };
        Publisher { poison: Arc::clone(poison), inner: Mutex::new(inner), advanced: Condvar::new() }
    }

    pub fn snapshot(&self, shared: &Arc<Shared>) -> Arc<Snapshot> {
        let mut inner = self.inner.lock();
        if let Some(snapshot) = &inner.snapshot {
            return Arc::clone(snapshot);
        }
        let snapshot = Arc::new(Snapshot::new(inner.state.clone(), Pin::new(inner.version, shared)));
        inner.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// The state of the catalog as of its last commit.
    pub fn state(&self) -> CatalogState {
        self.inner.lock().state.clone()
    }

    /// As [`Publisher::state`], without a copy.
    pub fn with_state<T>(&self, look: impl FnOnce(&CatalogState) -> T) -> T {
        look(&self.inner.lock().state)
    }

    /// The version of the next commit, and what `look` finds in the state that it builds on; `None` if an earlier version
    /// is not visible yet. Only the holder of the lock on commits may call this.
    pub fn next_at_once<T>(&self, look: impl FnOnce(&CatalogState) -> Option<T>) -> Option<(u64, T)> {
        let inner = self.inner.lock();
        let value = look(&inner.state).filter(|_| inner.waiting.is_empty())?;
        Some((inner.version + 1, value))
    }

    pub fn is_visible(&self, version: u64) -> bool {
        self.inner.lock().version >= version
    }

    /// The version of the next commit. Only the holder of the lock on commits may call this.
    pub fn next_version(&self) -> u64 {
        let inner = self.inner.lock();
        inner.waiting.back().map_or(inner.version, |(last, _)| *last) + 1
    }

    /// Begins a version that only appends to a log and changes no state. It is visible at once if it and all earlier ones are done.
    pub fn begin(&self, version: u64, done: bool) {
        let mut inner = self.inner.lock();
        inner.waiting.push_back((version, done));
        let old = self.advance(&mut inner);
        drop(inner);
        drop(old);
    }

    /// The version is done; returns when it is visible.
    pub fn finish(&self, version: u64) -> Result<()> {
        let mut inner = self.inner.lock();
        if let Some(waiting) = inner.waiting.iter_mut().find(|(waiting, _)| *waiting == version) {
            waiting.1 = true;
        }
        // Dropping its last pin may remove files; other threads do not wait for that.
        if let Some(old) = self.advance(&mut inner) {
            MutexGuard::unlocked(&mut inner, || drop(old));
        }
        while inner.version < version {
            self.poison.check()?;
            self.advanced.wait_for(&mut inner, LOOK_AGAIN);
        }
        Ok(())
    }

    /// Returns when every assigned version is visible; a commit of the catalog builds on all of them.
    pub fn drain(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        while !inner.waiting.is_empty() {
            self.poison.check()?;
            self.advanced.wait_for(&mut inner, LOOK_AGAIN);
        }
        Ok(())
    }

    /// Publishes a commit of the catalog, after [`Publisher::drain`] and with the commits still locked.
    pub fn publish(&self, state: CatalogState, version: u64) {
        let mut inner = self.inner.lock();
        inner.state = state;
        inner.version = version;
        let old = inner.snapshot.take();
        drop(inner);
        // Dropping its last pin may remove files; other threads do not wait for that.
        drop(old);
    }

    /// Releases everything, because no more requests will come.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        let old = (std::mem::take(&mut inner.state), inner.snapshot.take());
        drop(inner);
        drop(old);
    }

    /// Returns the previous snapshot, which the caller drops without the lock.
    fn advance(&self, inner: &mut PublisherState) -> Option<Arc<Snapshot>> {
        let before = inner.version;
        while let Some((version, true)) = inner.waiting.front().copied() {
            inner.version = version;
            inner.waiting.pop_front();
        }
        if inner.version == before {
            return None;
        }
        self.advanced.notify_all();
        inner.snapshot.take()
    }
}
