//! A disk of simulated files. A test can make one of its calls fail.
//!
//! A store of a simulated kind puts all that it makes and opens inside [`Disk::under`] on the disk: segments, logs and the catalog.
//! The disk counts the calls that reach it, over all files, so that a test can make each of them fail once. Data that
//! was on its way when a flush failed never arrives, unless it is stored again: a kernel that takes the pages for
//! clean behaves so. Readers of the file still see the data.

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
    /// The files that are written to while they exist. A sealed file is durable.
    files: Arc<Mutex<BTreeMap<PathBuf, Trace>>>,
}

/// The state that the files of a disk share and keep alive.
#[derive(Debug, Default)]
pub(super) struct Calls {
    state: Mutex<(u64, Option<Failure>)>,
}

/// The call that fails, counted from 1, and how it fails.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub call: u64,
    /// The value of `errno`.
    pub error: i32,
    /// A write that fails still writes so many hundredths of its bytes.
    pub written_percent: usize,
}

impl Disk {
    pub fn new() -> Disk {
        Disk::default()
    }

    /// Runs `work` on this disk. Only this thread uses the disk; the files that it opened stay on it, whichever thread writes to them.
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

    /// The possible contents of the files after a loss of power now.
    pub fn after_power_cut(&self, survivors: SurvivingStores) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files.lock().clone();
        files.into_iter().map(|(path, trace)| (path, trace.after_power_cut(survivors))).collect()
    }

    /// Registers a new file.
    pub(super) fn put(&self, path: &Path, trace: &Trace) {
        self.files.lock().insert(path.to_owned(), trace.clone());
    }

    /// The file, if it was created on this disk: the disk knows which bytes are durable even after it was opened again.
    pub(super) fn find(&self, path: &Path) -> Option<Trace> {
        self.files.lock().get(path).cloned()
    }
}

impl Calls {
    /// Counts a call; an error if this is the call that fails.
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
