//! Which version readers see: versions become visible in their order, each when it is done.
//!
//! Invariant: a version is visible only when all before it are. So a snapshot never has a commit and
//! lacks an earlier one, though commits wait for different files.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::error::Result;
use crate::region::PoisonFlag;
use crate::shared::{Pin, Shared};
use crate::snapshot::Snapshot;
use crate::state::CatalogState;

/// A failed flush wakes nobody: those who wait look again after this.
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
    /// Given, but not visible yet; and whether it is done. Ascending without a gap.
    waiting: VecDeque<(u64, bool)>,
    /// Of the last visible version, made when somebody asks.
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

    /// What the catalog says as of the last commit of it.
    pub fn state(&self) -> CatalogState {
        self.inner.lock().state.clone()
    }

    /// As [`Publisher::state`], for who needs little of it.
    pub fn with_state<T>(&self, look: impl FnOnce(&CatalogState) -> T) -> T {
        look(&self.inner.lock().state)
    }

    /// The version that a commit gets next, and what is found in the state it builds on; None where an earlier version
    /// has yet to become visible. Only the one who holds the lock on commits may ask.
    pub fn next_at_once<T>(&self, look: impl FnOnce(&CatalogState) -> Option<T>) -> Option<(u64, T)> {
        let inner = self.inner.lock();
        let found = look(&inner.state).filter(|_| inner.waiting.is_empty())?;
        Some((inner.version + 1, found))
    }

    pub fn is_visible(&self, version: u64) -> bool {
        self.inner.lock().version >= version
    }

    /// The version that a commit gets next. Only the one who holds the lock on commits may ask.
    pub fn next_version(&self) -> u64 {
        let inner = self.inner.lock();
        inner.waiting.back().map_or(inner.version, |(last, _)| *last) + 1
    }

    /// A version of a log alone: it changes no state. Visible at once if it and all before are done.
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
        // Its last pin may remove files, which nobody else has to wait for.
        if let Some(old) = self.advance(&mut inner) {
            MutexGuard::unlocked(&mut inner, || drop(old));
        }
        while inner.version < version {
            self.poison.check()?;
            self.advanced.wait_for(&mut inner, LOOK_AGAIN);
        }
        Ok(())
    }

    /// Returns when every version given is visible; a commit of the catalog builds on all of them.
    pub fn drain(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        while !inner.waiting.is_empty() {
            self.poison.check()?;
            self.advanced.wait_for(&mut inner, LOOK_AGAIN);
        }
        Ok(())
    }

    /// A commit of the catalog, after [`Publisher::drain`] and with the commits still locked.
    pub fn publish(&self, state: CatalogState, version: u64) {
        let mut inner = self.inner.lock();
        inner.state = state;
        inner.version = version;
        let old = inner.snapshot.take();
        drop(inner);
        // Its last pin may remove files, which nobody else has to wait for.
        drop(old);
    }

    /// Lets go of everything: nobody is going to ask again.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        let old = (std::mem::take(&mut inner.state), inner.snapshot.take());
        drop(inner);
        drop(old);
    }

    /// Returns the snapshot of the version before, to be dropped without the lock.
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
