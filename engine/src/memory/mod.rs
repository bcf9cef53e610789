//! Bounded memory: one pool for the process, and in it a limit for each query; what batches that somebody holds take of it.

mod held;
mod query_pool;

pub use held::{COLUMN_BYTES, Counted, Held};
pub use query_pool::QueryPool;
