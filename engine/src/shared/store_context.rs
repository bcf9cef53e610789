//! What tables need of an engine.

use std::sync::Arc;

use pmem_store::Store;

use super::EngineShared;
use table::constraints::RuleContext;
use table::store_context::StoreContext;

impl StoreContext for EngineShared {
    fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn rules(&self) -> &RuleContext {
        &self.rules
    }

    fn query_memory_limit_bytes(&self) -> usize {
        self.query_memory_limit_bytes
    }

    fn wake_maintenance(&self) {
        self.maintenance.wake();
    }
}
