//! Bounded memory: one pool for the process, and in it a limit for each query; what batches that somebody holds take of it, what
//! functions make, and where queries go that need more.

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
