//! What there is, and what the statement's user may do, while nobody else commits.

use std::sync::Arc;

use pmem_store::{Snapshot, Store};

use crate::access::{Permit, SessionAccess, seen};
use common::error::EngineError;

/// Asked for with the commits locked: what was seen when the statement began may be gone by then, and so may the right to it.
pub struct Now {
    snapshot: Arc<Snapshot>,
    /// None: everything.
    permit: Option<Arc<Permit>>,
}

impl Now {
    /// In no transaction: the session may have begun one by then, if nobody has waited for the statement.
    pub fn of(store: &Store, access: Option<&SessionAccess>) -> Result<Now, EngineError> {
        let permit = access.map(|access| access.permit(None)).transpose()?.map(Arc::new);
        Ok(Now { snapshot: seen(store.snapshot()?, permit.as_ref()), permit })
    }

    /// As the statement's user sees it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn check(&self, check: impl FnOnce(&Permit) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.permit.as_deref().map_or(Ok(()), check)
    }
}
