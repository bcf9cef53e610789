//! An open store with what its queries share: memory, spill space, table statistics.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use datafusion::execution::SessionState;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryLimit, MemoryPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use pmem_store::{RegionKind, Store, StoreOptions};

use crate::audit::{Audit, OpenAudit};
use crate::backup::Listener;
use crate::catalog::{RemoteTables, StatisticsCache};
use crate::compaction::Maintenance;
use crate::constraints::KeyFilters;
use crate::options::EngineOptions;
use crate::planning::Planning;
use crate::queries::{Limits, Queries, StatementCounts, StatementEnd};
use crate::session::Session;
use crate::write::OpenTransactions;
use common::error::EngineError;
use common::memory::SpillDir;
use common::trace::trace_tasks;

#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) shared: Arc<EngineShared>,
}

#[derive(Debug)]
pub(crate) struct EngineShared {
    // These before the store, which their threads must have let go of.
    pub maintenance: Maintenance,
    _listener: Option<Listener>,
    pub audit: OpenAudit,
    pub store: Arc<Store>,
    pub runtime: Arc<RuntimeEnv>,
    pub statistics: StatisticsCache,
    pub key_filters: Arc<KeyFilters>,
    /// Plans CHECK and DEFAULT; made when it is first needed.
    pub rule_planner: OnceLock<SessionState>,
    /// What sessions begin with; made with the first.
    pub session_template: OnceLock<SessionState>,
    pub transactions: OpenTransactions,
    pub queries: Arc<Queries>,
    pub planning: Planning,
    pub statement_timeout_ms: u64,
    pub partitions: usize,
    pub query_memory_limit_bytes: usize,
    pub remote_tables: Option<Arc<dyn RemoteTables>>,
    // After the store: its files are closed when the directory goes.
    _temporary: Option<TemporaryDir>,
}

impl Engine {
    /// Opens the store at `path`; makes one where there is none, unless `read_only`.
    pub fn open(path: &Path, options: EngineOptions) -> Result<Engine, EngineError> {
        Engine::open_in(path, options, None)
    }

    /// A store in a temporary directory that goes when the engine does.
    pub fn open_temporary(options: EngineOptions) -> Result<Engine, EngineError> {
        let temporary = TemporaryDir::create()?;
        let path = temporary.path.join("store");
        Engine::open_in(&path, options, Some(temporary))
    }

    fn open_in(path: &Path, options: EngineOptions, temporary: Option<TemporaryDir>) -> Result<Engine, EngineError> {
        trace_tasks();
        let (read_only, accept_loss) = (options.read_only, options.accept_loss);
        let store_options =
            StoreOptions { read_only, accept_loss, create: !accept_loss, region: RegionKind::Auto, ..StoreOptions::default() };
        let store = Arc::new(Store::open(path, store_options)?);
        let memory_limit_bytes = options.memory_limit();
        let query_memory_limit_bytes = options
            .query_memory_limit_bytes
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(memory_limit_bytes)
            .min(memory_limit_bytes);
        let runtime = runtime(path, &options, memory_limit_bytes)?;
        let shared = EngineShared {
            maintenance: Maintenance::new(options.maintenance.clone(), &store, &runtime),
            _listener: Listener::start(&store),
            audit: OpenAudit(Audit::new(&store)),
            store,
            key_filters: Arc::new(KeyFilters::new(&runtime.memory_pool)),
            rule_planner: OnceLock::new(),
            session_template: OnceLock::new(),
            runtime,
            statistics: StatisticsCache::default(),
            transactions: OpenTransactions::default(),
            queries: Queries::new(Limits { queries_max: options.queries_max, queue_timeout_ms: options.queue_timeout_ms }),
            planning: Planning::new(options.partitions()),
            statement_timeout_ms: options.statement_timeout_ms.unwrap_or(0),
            partitions: options.partitions(),
            query_memory_limit_bytes,
            remote_tables: options.remote_tables.clone(),
            _temporary: temporary,
        };
        shared.maintenance.start();
        Ok(Engine { shared: Arc::new(shared) })
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

fn runtime(store: &Path, options: &EngineOptions, memory_limit_bytes: usize) -> Result<Arc<RuntimeEnv>, EngineError> {
    // A reader may not write into the store's directory.
    let default_dir = || if options.read_only { std::env::temp_dir() } else { store.join("spill") };
    let spill_dir = options.spill_dir.clone().unwrap_or_else(default_dir);
    if !options.read_only && options.spill_dir.is_none() {
        // Left by a process that was killed: the lock says that nobody else has the store open.
        let _ = std::fs::remove_dir_all(&spill_dir);
    }
    if options.spill_dir.is_some() {
        std::fs::create_dir_all(&spill_dir).map_err(|source| EngineError::SpillDir { path: spill_dir.clone(), source })?;
    }
    let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(memory_limit_bytes));
    let disk = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(SpillDir::new(spill_dir)));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(disk);
    // Directories of external tables are listed anew: files come and go.
    let runtime = runtime.with_object_list_cache_limit(0).build_arc();
    runtime.map_err(EngineError::from)
}

/// A directory that is removed when it is dropped.
#[derive(Debug)]
struct TemporaryDir {
    path: std::path::PathBuf,
}

impl TemporaryDir {
    fn create() -> Result<TemporaryDir, EngineError> {
        let base = std::env::temp_dir();
        for attempt in 0u32.. {
            let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |at| at.subsec_nanos());
            let path = base.join(format!("quiver-{}-{nanos}-{attempt}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(TemporaryDir { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(EngineError::SpillDir { path, source }),
            }
        }
        unreachable!("2^32 directories of one process exist")
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
