//! Rules of ours, among DataFusion's own.

mod await_join_filters;
mod choice_shapes;
mod decimal;
mod fast_decimals;
mod filters_by_name;
mod float_decimals;
mod null_safe_keys;
mod recursive_shapes;
mod skip_rows;
mod union_shapes;
mod window_arguments;

pub use await_join_filters::AwaitJoinFilters;
pub use choice_shapes::{with_choice_shapes, with_shapes};
pub use fast_decimals::FastDecimals;
pub use filters_by_name::physical_optimizer_rules;
pub use float_decimals::{fields_of, with_field};
pub use null_safe_keys::{optimizer_rules, with_null_safe_keys};
pub use skip_rows::SkipRows;

use std::sync::Arc;

use datafusion::optimizer::AnalyzerRule;

/// DataFusion's analyzer rules, and ours.
pub fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = float_decimals::analyzer_rules();
    rules.push(Arc::new(window_arguments::WindowArguments));
    // Before the rule about UNIONs, which asks what their inputs say.
    rules.push(Arc::new(choice_shapes::ChoiceShapes));
    rules.push(Arc::new(union_shapes::UnionShapes));
    rules
}
