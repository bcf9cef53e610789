//! Reads a table in place: pruning by zone statistics, filters on the mapped buffers, late materialisation.

pub mod await_join_filters;
mod conjunct;
mod dictionary_test;
mod fetch;
mod filter;
mod float_bounds;
mod hint;
mod like_pieces;
mod metrics;
mod offset;
mod ordering;
mod part;
mod partition;
mod projection;
mod pruning;
pub mod row_id;
mod row_order;
mod selection;
mod selectivity;
pub mod skip_rows;
mod source;
mod statistics;
mod statistics_cache;
mod stored_filter;
mod stored_rows;
mod stream;
mod template;
mod whole_zones;

pub use part::ScanPart;
pub use projection::projected_columns;
pub use source::StoreScan;
pub use statistics::{RowsIdentity, TableStatistics, open_parts, statistics_of_some};
pub use statistics_cache::{StatisticsCache, statistics_of};
pub use stored_rows::{StoredRows, StoredStream};
pub use template::ScanTemplateExec;
