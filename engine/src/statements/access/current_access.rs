//! The current snapshot and the rights of the statement's user, while commits are locked.

use std::sync::Arc;

use pmem_store::{Snapshot, Store};

use common::error::EngineError;
use table::access::{Authorization, SessionAccess, visible_snapshot};

/// Read under the commit lock: an object that existed when the statement began may be gone by then, and so may the privilege.
pub struct CurrentAccess {
    snapshot: Arc<Snapshot>,
    /// `None`: everything.
    authorization: Option<Arc<Authorization>>,
}

impl CurrentAccess {
    /// Outside of any transaction: the session may have begun one by then if the statement's caller was dropped.
    pub fn of(store: &Store, access: Option<&SessionAccess>) -> Result<CurrentAccess, EngineError> {
        let authorization = access.map(|access| access.authorization(None)).transpose()?.map(Arc::new);
        Ok(CurrentAccess { snapshot: visible_snapshot(store.snapshot()?, authorization.as_ref()), authorization })
    }

    /// As the statement's user sees it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn check(&self, check: impl FnOnce(&Authorization) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.authorization.as_deref().map_or(Ok(()), check)
    }
}
