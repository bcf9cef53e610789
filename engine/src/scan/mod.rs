//! Reading a table where it lies: pruning by zone statistics, filters on the mapped buffers,
//! late materialisation.

mod filter;
mod metrics;
mod ordering;
mod partition;
mod pruning;
mod selectivity;
mod source;
mod statistics;
mod stream;

pub use source::StoreScan;
pub(crate) use statistics::{TableStatistics, table_statistics};
