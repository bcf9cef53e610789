//! Rules of ours, among DataFusion's own.

mod await_join_filters;
mod decimal;
mod fast_decimals;
mod float_decimals;

pub use await_join_filters::AwaitJoinFilters;
pub use fast_decimals::FastDecimals;
pub use float_decimals::analyzer_rules;
