//! An open store and what its sessions share: memory, spill space, statistics, and running statements.
//!
//! - `runtime` — memory and spill space
//! - `config` — the initial settings of sessions
//! - `functions` — what functions of users run in
//! - `store_context` — what tables need of it

mod config;
mod functions;
mod runtime;
mod store_context;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::SessionConfig;
use pmem_store::{Store, StoreOptions};
use tempfile::TempDir;

use crate::audit::{AuditWriter, OpenAuditWriter};
use crate::compaction::Maintenance;
use crate::options::EngineOptions;
use crate::planning::plan_cache::PlanCache;
use crate::planning::{Planning, Work};
use crate::queries::{AdmissionLimits, Principal, Queries};
use crate::requests::{Listener, open_to_read};
use common::error::EngineError;
use common::file_directories::FileDirectories;
use config::{SessionDefaults, config};
use functions::FunctionHosts;
use table::constraints::RuleContext;
use table::remote_tables::RemoteTables;
use table::scan::StatisticsCache;
use table::transactions::OpenTransactions;

#[derive(Debug)]
pub struct EngineShared {
    // These are dropped before the store, because their threads must have released it.
    pub maintenance: Maintenance,
    _listener: Option<Listener>,
    pub audit: OpenAuditWriter,
    pub store: Arc<Store>,
    pub runtime: Arc<RuntimeEnv>,
    pub statistics: StatisticsCache,
    /// What is needed to plan CHECK and DEFAULT and to search keys.
    pub rules: RuleContext,
    /// The initial state of sessions; built with the first one.
    pub session_template: OnceLock<SessionState>,
    pub transactions: OpenTransactions,
    pub queries: Arc<Queries>,
    pub planning: Planning,
    pub plan_cache: PlanCache,
    pub statement_timeout_ms: u64,
    pub partitions: usize,
    pub query_memory_limit_bytes: usize,
    pub remote_tables: Option<Arc<dyn RemoteTables>>,
    pub file_directories: FileDirectories,
    pub functions: FunctionHosts,
    // Dropped after the store: its files are closed before the directory is deleted.
    _temporary: Option<TempDir>,
}

impl EngineShared {
    pub fn open(path: &Path, options: EngineOptions, temporary: Option<TempDir>) -> Result<EngineShared, EngineError> {
        let accept_loss = options.accept_loss;
        let store = Arc::new(match options.read_only {
            true => open_to_read(path)?,
            false => Store::open(path, StoreOptions { accept_loss, create: !accept_loss, ..StoreOptions::default() })?,
        });
        let memory_limit_bytes = options.memory_limit();
        let query_memory_limit_bytes = options
            .query_memory_limit_bytes
            .and_then(|limit| usize::try_from(limit).ok())
            .unwrap_or(memory_limit_bytes)
            .min(memory_limit_bytes);
        let statement_timeout_ms = options.statement_timeout_ms.unwrap_or(0);
        let partitions = options.partitions();
        let runtime = runtime::runtime(path, &options, memory_limit_bytes)?;
        let defaults = SessionDefaults { partitions, query_memory_limit_bytes, statement_timeout_ms };
        let functions = FunctionHosts::new(&options, partitions);
        let shared = EngineShared {
            maintenance: Maintenance::new(options.maintenance.clone(), &store, &runtime),
            _listener: Listener::start(&store),
            audit: OpenAuditWriter(AuditWriter::new(&store)),
            store,
            rules: RuleContext::new(&runtime, config(defaults)),
            session_template: OnceLock::new(),
            runtime,
            statistics: StatisticsCache::default(),
            transactions: OpenTransactions::default(),
            queries: Queries::new(AdmissionLimits { queries_max: options.queries_max, queue_timeout_ms: options.queue_timeout_ms }),
            planning: Planning::new(partitions),
            plan_cache: PlanCache::default(),
            statement_timeout_ms,
            partitions,
            query_memory_limit_bytes,
            file_directories: FileDirectories::of(options.file_dirs.as_deref()),
            remote_tables: options.remote_tables,
            functions,
            _temporary: temporary,
        };
        shared.maintenance.start();
        Ok(shared)
    }

    /// Plans something slow on a planner thread, so that nothing else waits for it. Without a user it is for the process itself.
    pub async fn on_planner_thread<T: Send + 'static>(&self, user: Option<&str>, work: Work<T>) -> Result<T, EngineError> {
        let principal = user.map_or_else(|| Principal::process(""), Principal::user);
        self.planning.on_planner_thread(&principal, work).await
    }

    /// The initial settings of a session.
    pub fn session_config(&self) -> SessionConfig {
        let (partitions, query_memory_limit_bytes) = (self.partitions, self.query_memory_limit_bytes);
        config(SessionDefaults { partitions, query_memory_limit_bytes, statement_timeout_ms: self.statement_timeout_ms })
    }
}
