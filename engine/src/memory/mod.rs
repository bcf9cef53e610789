//! Bounded memory: one pool for the process, and in it a limit for each query.

mod query_pool;

pub use query_pool::QueryPool;
