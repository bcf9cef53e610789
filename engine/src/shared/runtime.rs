//! The shared resources of all statements' operators: memory and spill space.

use std::path::Path;
use std::sync::Arc;

use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use crate::options::EngineOptions;
use common::error::EngineError;
use common::memory::SpillDir;

pub fn runtime(store: &Path, options: &EngineOptions, memory_limit_bytes: usize) -> Result<Arc<RuntimeEnv>, EngineError> {
    // A process that only reads must not write into the store's directory.
    let default_dir = || if options.read_only { std::env::temp_dir() } else { store.join("spill") };
    let spill_dir = options.spill_dir.clone().unwrap_or_else(default_dir);
    if !options.read_only && options.spill_dir.is_none() {
        // A killed process left it: we hold the lock, so nobody else has the store open.
        let _ = std::fs::remove_dir_all(&spill_dir);
    }
    if options.spill_dir.is_some() {
        std::fs::create_dir_all(&spill_dir).map_err(|source| EngineError::SpillDir { path: spill_dir.clone(), source })?;
    }
    let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(memory_limit_bytes));
    let disk = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(SpillDir::new(spill_dir)));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(disk);
    runtime.build_arc().map_err(EngineError::from)
}
