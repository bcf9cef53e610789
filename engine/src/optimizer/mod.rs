//! Rules of ours, after DataFusion's own.

mod decimal;
mod fast_decimals;
mod float_decimals;

pub use fast_decimals::FastDecimals;
pub use float_decimals::analyzer_rules;
