//! An engine: it opens a store, makes sessions, and has the operations on the store as a whole.

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
    /// Opens the store at `path`, and creates it if there is none, unless `read_only`.
    pub fn open(path: &Path, options: EngineOptions) -> Result<Engine, EngineError> {
        Engine::open_in(path, options, None)
    }

    /// A store in a temporary directory, which is deleted with the engine.
    pub fn open_temporary(options: EngineOptions) -> Result<Engine, EngineError> {
        let owner_only = Permissions::from_mode(0o700);
        let temporary = tempfile::Builder::new().prefix("quiver-").permissions(owner_only).tempdir();
        let temporary = temporary.map_err(|source| EngineError::SpillDir { path: std::env::temp_dir(), source })?;
        let path = temporary.path().join("store");
        Engine::open_in(&path, options, Some(temporary))
    }

    /// Whether there is a store in a directory; opening another one makes it.
    pub fn is_store(path: &Path) -> bool {
        pmem_store::Store::exists(path)
    }

    fn open_in(path: &Path, options: EngineOptions, temporary: Option<TempDir>) -> Result<Engine, EngineError> {
        trace_tasks();
        Ok(Engine { shared: Arc::new(EngineShared::open(path, options, temporary)?) })
    }

    /// One session per connection; it is cheap. It has all rights: a process that can open the store's files can read them anyway. So
    /// this is for the program itself; use [`Engine::session_as`] to act for a user.
    pub fn session(&self) -> Result<Session, EngineError> {
        Session::new(Arc::clone(&self.shared), None)
    }

    /// Registers a callback for statements that end. An engine has one: the first.
    pub fn on_statement_end(&self, observer: impl Fn(&StatementEnd<'_>) + Send + Sync + 'static) {
        self.shared.queries.observe(Box::new(observer));
    }

    /// Counts of the registered statements.
    pub fn statement_counts(&self) -> StatementCounts {
        self.shared.queries.counts()
    }

    /// The memory limit for the operators of all statements together.
    pub fn memory_limit_bytes(&self) -> usize {
        match self.shared.runtime.memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => bytes,
            _ => usize::MAX,
        }
    }

    /// How many threads one query uses.
    pub fn threads(&self) -> usize {
        self.shared.partitions
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }
}
