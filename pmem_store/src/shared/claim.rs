//! Why no other process removes the files of a store.

use crate::lock::StoreLock;
use crate::requests::Lease;

#[derive(Debug)]
pub(crate) enum Claim {
    Lock(StoreLock),
    Lease(Lease),
}

impl Claim {
    /// The lock on the store; `None` for a reader with a lease.
    pub fn lock(&self) -> Option<&StoreLock> {
        match self {
            Claim::Lock(lock) => Some(lock),
            Claim::Lease(_) => None,
        }
    }

    /// The version of the lease. Logs grow meanwhile.
    pub fn leased_version(&self) -> Option<u64> {
        match self {
            Claim::Lock(_) => None,
            Claim::Lease(lease) => Some(lease.version()),
        }
    }
}
