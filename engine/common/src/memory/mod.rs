//! Bounded memory: one pool for the process, in it a limit for each query, accounting for batches that are held and for what functions
//! allocate, and spilling for queries that need more.

mod live;
mod query_pool;
mod spill;
mod statement;
mod values;

pub use live::{COLUMN_BYTES, LiveMemory};
pub use query_pool::QueryPool;
pub use spill::SpillDir;
pub use statement::StatementMemory;
pub use values::{EvaluationGuard, reserve};

use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool};

/// The largest reservation that a pool allows, in bytes.
pub fn limit_bytes(pool: &dyn MemoryPool) -> usize {
    match pool.memory_limit() {
        MemoryLimit::Finite(limit_bytes) => limit_bytes,
        _ => usize::MAX,
    }
}
