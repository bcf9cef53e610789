//! Bounded memory: one pool for the process, and in it a limit for each query; what batches that somebody holds take of it, and what
//! functions make.

mod held;
mod query_pool;
mod statement;
mod values;

pub use held::{COLUMN_BYTES, Counted, Held};
pub use query_pool::QueryPool;
pub use statement::StatementMemory;
pub use values::{Evaluating, reserve};
