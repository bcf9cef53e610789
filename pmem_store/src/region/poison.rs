//! The flag that stops a store from writing, and from removing files, after an operation with an unknown outcome on the medium.

use std::sync::{Arc, OnceLock};

use super::RegionError;

/// All writers to a store share it. It is set once by the first failed flush or sync, or by the first commit whose outcome is
/// unknown, and never cleared: after a failed msync the kernel may have marked the lost pages clean, so
/// trying again would report success for lost data. From then on no file is removed either: the next open decides from the
/// medium whether a file is needed.
#[derive(Debug, Default)]
pub struct PoisonFlag {
    reason: OnceLock<String>,
}

impl PoisonFlag {
    /// A flag that is not set.
    pub fn new() -> Arc<PoisonFlag> {
        Arc::default()
    }

    /// Sets the flag. The first reason stays.
    pub fn poison(&self, reason: String) {
        let _ = self.reason.set(reason);
    }

    pub fn is_set(&self) -> bool {
        self.reason.get().is_some()
    }

    /// Guards the commit `what`, which begins now. The flag is set unless the guard learns how the commit ended; so it is after a panic.
    pub fn until_known(self: &Arc<Self>, what: String) -> CommitInDoubt {
        CommitInDoubt { poison: Arc::clone(self), what: Some(what) }
    }

    /// What failed, if something has.
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// # Errors
    ///
    /// [`RegionError::Poisoned`] once the flag is set.
    pub fn check(&self) -> Result<(), RegionError> {
        match self.reason.get() {
            None => Ok(()),
            Some(reason) => Err(RegionError::Poisoned { reason: reason.clone() }),
        }
    }
}

/// A commit whose outcome is not known yet. Dropping it stops all writing.
#[must_use]
#[derive(Debug)]
pub struct CommitInDoubt {
    poison: Arc<PoisonFlag>,
    what: Option<String>,
}

impl CommitInDoubt {
    /// The commit has succeeded.
    pub fn succeeded(mut self) {
        self.what = None;
    }

    pub fn failed(mut self, why: &str) {
        if let Some(what) = self.what.take() {
            self.poison.poison(format!("{what} failed: {why}"));
        }
    }
}

impl Drop for CommitInDoubt {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            self.poison.poison(format!("{what} did not come to an end"));
        }
    }
}
