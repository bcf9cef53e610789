//! How a store is opened.

use crate::region::RegionKind;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Only reads: shares the store with other readers.
    pub read_only: bool,
    /// Makes a store where there is none; the directory must be absent or empty.
    pub create: bool,
    pub region: RegionKind,
    /// Goes on without what damage has taken from logs, or from the catalog's last versions; without this they are
    /// errors for who reads, and nothing is written over them. Who only reads gives nothing up.
    pub accept_loss: bool,
    /// Tests only: runs although `PMEM_IS_PMEM_FORCE` is set, which loses acknowledged data.
    pub allow_forced_pmem: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions { read_only: false, create: true, region: RegionKind::Auto, accept_loss: false, allow_forced_pmem: false }
    }
}
