//! What the session's catalog is asked about rights.

use std::sync::Arc;

use pmem_store::Snapshot;

use super::permit::Permit;
use crate::catalog::StoreCatalog;
use common::error::EngineError;

impl StoreCatalog {
    /// Holds what the statement is about to do against the rights of its user; a session of the process itself has
    /// all rights.
    pub fn check(&self, check: impl FnOnce(&Permit) -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.permit().map_or(Ok(()), |permit| check(&permit))
    }
}

/// The snapshot with no more in it than the user may know of.
pub fn seen(snapshot: Arc<Snapshot>, permit: Option<&Arc<Permit>>) -> Arc<Snapshot> {
    match permit {
        Some(permit) if !permit.is_admin() => Arc::new(snapshot.seen_with(Arc::<Permit>::clone(permit))),
        _ => snapshot,
    }
}
