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

use super::{SurvivingStores, Trace};

thread_local! {
    static DISK: RefCell<Option<Disk>> = const { RefCell::new(None) };
}

/// A handle: clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub(super) calls: Arc<Calls>,
    /// Those that are written to as long as they are there. A sealed one is durable.
    files: Arc<Mutex<BTreeMap<PathBuf, Trace>>>,
}

/// What the files of a disk share, and hold on to.
#[derive(Debug, Default)]
pub(super) struct Calls {
    state: Mutex<(u64, Option<Failure>)>,
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
        self.calls.state.lock().0
    }

    pub fn fail(&self, failure: Failure) {
        self.calls.state.lock().1 = Some(failure);
    }

    /// What the files could hold after a loss of power, now.
    pub fn after_power_cut(&self, kept: SurvivingStores) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files.lock().clone();
        files.into_iter().map(|(path, trace)| (path, trace.after_power_cut(kept))).collect()
    }

    /// Of a file that is made.
    pub(super) fn put(&self, path: &Path, trace: &Trace) {
        self.files.lock().insert(path.to_owned(), trace.clone());
    }

    /// Of a file that was made on this disk: what of it is durable stays known over an opening.
    pub(super) fn find(&self, path: &Path) -> Option<Trace> {
        self.files.lock().get(path).cloned()
    }
}

impl Calls {
    /// Counts a call; the failure if it is the one that fails.
    pub fn call(&self) -> Result<(), Failure> {
        let (calls, failure) = &mut *self.state.lock();
        *calls += 1;
        match failure.filter(|failure| failure.call == *calls) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

impl Failure {
    pub(super) fn error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.error)
    }
}
