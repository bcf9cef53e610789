//! An engine: opening a store, its sessions, and what is asked of it as a whole.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryLimit;
use pmem_store::Store;
use tempfile::TempDir;

use crate::options::EngineOptions;
use crate::queries::{StatementCounts, StatementEnd};
use crate::session::Session;
use crate::shared::EngineShared;
use common::error::EngineError;
use common::trace::trace_tasks;

mod users;

#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) shared: Arc<EngineShared>,
}

impl Engine {
    /// Opens the store at `path`; makes one where there is none, unless `read_only`.
    pub fn open(path: &Path, options: EngineOptions) -> Result<Engine, EngineError> {
        Engine::open_in(path, options, None)
    }

    /// A store in a temporary directory that goes when the engine does.
    pub fn open_temporary(options: EngineOptions) -> Result<Engine, EngineError> {
        let owner_only = Permissions::from_mode(0o700);
        let temporary = tempfile::Builder::new().prefix("quiver-").permissions(owner_only).tempdir();
        let temporary = temporary.map_err(|source| EngineError::SpillDir { path: std::env::temp_dir(), source })?;
        let path = temporary.path().join("store");
        Engine::open_in(&path, options, Some(temporary))
    }

    fn open_in(path: &Path, options: EngineOptions, temporary: Option<TempDir>) -> Result<Engine, EngineError> {
        trace_tasks();
        Ok(Engine { shared: Arc::new(EngineShared::open(path, options, temporary)?) })
    }

    /// One per connection; cheap. It has all rights: who can open the store's files can read them, so this is for the
    /// program itself. What works for somebody else takes [`Engine::session_as`].
    pub fn session(&self) -> Result<Session, EngineError> {
        Session::new(Arc::clone(&self.shared), None)
    }

    /// Is told of every statement that ends. There is one for an engine: the first that was given.
    pub fn on_statement_end(&self, observer: impl Fn(&StatementEnd<'_>) + Send + Sync + 'static) {
        self.shared.queries.observe(Box::new(observer));
    }

    /// Of the statements on the list.
    pub fn statement_counts(&self) -> StatementCounts {
        self.shared.queries.counts()
    }

    /// What the operators of all statements together may hold.
    pub fn memory_limit_bytes(&self) -> usize {
        match self.shared.runtime.memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => bytes,
            _ => usize::MAX,
        }
    }

    /// That one query keeps busy.
    pub fn threads(&self) -> usize {
        self.shared.partitions
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }
}
