//! Reading a table where it lies: pruning by zone statistics, filters on the mapped buffers,
//! late materialisation.

mod conjunct;
mod filter;
mod integer_set;
mod metrics;
mod ordering;
mod partition;
mod pruning;
mod selection;
mod selectivity;
mod source;
mod statistics;
mod stream;
#[cfg(test)]
mod tests;

pub use source::StoreScan;
pub(crate) use statistics::{TableStatistics, table_statistics};
