//! The options for opening a store.

use crate::region::RegionKind;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Opens the store for reading only and shares it with other readers.
    pub read_only: bool,
    /// Creates a store if there is none; the directory must be absent or empty.
    pub create: bool,
    pub region: RegionKind,
    /// Accepts the loss of what is damaged in logs, or in the catalog's last versions. Without this, reading it is an
    /// error, and nothing is written over it. A reader accepts no loss.
    pub accept_loss: bool,
    /// Tests only: runs although `PMEM_IS_PMEM_FORCE` is set, which loses acknowledged data.
    pub allow_forced_pmem: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { read_only: false, create: true, region: RegionKind::Auto, accept_loss: false, allow_forced_pmem: false }
    }
}
