//! The flag that stops a store from writing, and from removing files, after something was left that may be on the medium or not.

use std::sync::{Arc, OnceLock};

use super::RegionError;

/// Shared by all that writes to a store. Set once by the first failed flush or sync, or the first commit of which nobody
/// knows whether it is one, and never cleared: after a failed msync the kernel may have marked the lost pages clean, so
/// trying again would report success for lost data. From then on no file is removed either: whether it is needed is
/// decided by the next open, from what it finds on the medium.
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

    /// Of `what`, a commit that begins now: unless it is said to have ended, also by a panic, the flag is set.
    pub fn until_known(self: &Arc<Self>, what: String) -> CommitInDoubt {
        CommitInDoubt { poison: Arc::clone(self), what: Some(what) }
    }

    /// What failed, once something has.
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

/// A commit of which nobody knows yet whether it is one. Dropped, it stops all writing.
#[must_use]
#[derive(Debug)]
pub struct CommitInDoubt {
    poison: Arc<PoisonFlag>,
    what: Option<String>,
}

impl CommitInDoubt {
    /// It is one.
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
