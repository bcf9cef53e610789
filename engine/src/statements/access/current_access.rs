//! What there is, and what the statement's user may do, while nobody else commits.

use std::sync::Arc;

use pmem_store::{Snapshot, Store};

use crate::access::{Authorization, SessionAccess, seen};
use common::error::EngineError;

/// Asked for with the commits locked: what was seen when the statement began may be gone by then, and so may the right to it.
pub struct CurrentAccess {
    snapshot: Arc<Snapshot>,
    /// None: everything.
    authorization: Option<Arc<Authorization>>,
}

impl CurrentAccess {
    /// In no transaction: the session may have begun one by then, if nobody has waited for the statement.
    pub fn of(store: &Store, access: Option<&SessionAccess>) -> Result<CurrentAccess, EngineError> {
        let authorization = access.map(|access| access.authorization(None)).transpose()?.map(Arc::new);
        Ok(CurrentAccess { snapshot: seen(store.snapshot()?, authorization.as_ref()), authorization })
    }

    /// As the statement's user sees it.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn check(&self, check: impl FnOnce(&Authorization) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.authorization.as_deref().map_or(Ok(()), check)
    }
}
