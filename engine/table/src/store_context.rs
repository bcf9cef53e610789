//! The trait by which tables reach what the engine shares among its sessions.

use std::fmt::Debug;
use std::sync::Arc;

use pmem_store::Store;

use crate::constraints::RuleContext;

/// An open store, with what its tables need of the engine that opened it. The engine implements it and keeps the store open while anybody
/// has it.
pub trait StoreContext: Debug + Send + Sync {
    fn store(&self) -> &Arc<Store>;

    /// What is needed to plan CHECK and DEFAULT and to search keys.
    fn rules(&self) -> &RuleContext;

    /// The memory that one statement may take.
    fn query_memory_limit_bytes(&self) -> usize;

    /// Something was committed: there may be work for the background.
    fn wake_maintenance(&self);
}
