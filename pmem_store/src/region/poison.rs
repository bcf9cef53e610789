//! The flag that stops a store from writing after a failed flush.

use std::sync::{Arc, OnceLock};

use super::RegionError;

/// Shared by all regions of a store. Set once by the first failed flush or sync and never cleared:
/// after a failed msync the kernel may have marked the lost pages clean, so trying again would
/// report success for lost data.
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
            Some(reason) => Err(RegionError::Poisoned {
                reason: reason.clone(),
            }),
        }
    }
}
