//! A disk of simulated files, of which one call can fail.
//!
//! What a store of a simulated kind makes and opens inside [`Disk::under`] lies on it: segments, logs and the catalog. The
//! disk counts the calls that reach it, in one row over all files, so that a test can have each of them fail once. What was
//! on its way when a flush failed never arrives, unless it is stored again: as a kernel does that then takes the pages for
//! clean. It is still there for who reads the file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Kept, Trace};

thread_local! {
    static DISK: RefCell<Option<Disk>> = const { RefCell::new(None) };
}

/// A handle: clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    calls: u64,
    failure: Option<Failure>,
    /// Those that are written to as long as they are there. A sealed one is durable.
    files: BTreeMap<PathBuf, Trace>,
}

/// The call that fails, counted from 1, and how.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub call: u64,
    /// As in `errno`.
    pub error: i32,
    /// Of a write that fails: so much of it is there all the same, in hundredths.
    pub written_percent: usize,
}

impl Disk {
    pub fn new() -> Disk {
        Disk::default()
    }

    /// Has `work` use this disk. Only this thread does; files that it opened stay on the disk whoever writes to them.
    pub fn under<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = DISK.replace(Some(self.clone()));
        let done = work();
        DISK.set(before);
        done
    }

    pub(crate) fn of_this_thread() -> Option<Disk> {
        DISK.with_borrow(Clone::clone)
    }

    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    pub fn fail(&self, failure: Failure) {
        self.state.lock().failure = Some(failure);
    }

    /// What the files could hold after a loss of power, now.
    pub fn after_power_cut(&self, kept: Kept) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.state.lock().files.clone();
        files.into_iter().map(|(path, trace)| (path, trace.after_power_cut(kept))).collect()
    }

    /// Counts a call; the failure if it is the one that fails.
    pub(super) fn call(&self) -> Result<(), Failure> {
        let mut state = self.state.lock();
        state.calls += 1;
        let calls = state.calls;
        match state.failure.filter(|failure| failure.call == calls) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Of a file that is made.
    pub(super) fn put(&self, path: &Path, trace: &Trace) {
        self.state.lock().files.insert(path.to_owned(), trace.clone());
    }

    /// Of a file that was made on this disk: what of it is durable stays known over an opening.
    pub(super) fn find(&self, path: &Path) -> Option<Trace> {
        self.state.lock().files.get(path).cloned()
    }
}

impl Failure {
    pub(super) fn error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.error)
    }
}
