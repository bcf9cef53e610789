//! Our rules among DataFusion's own.

mod aggregate_statistics;
mod barrier;
mod checked_arithmetic;
mod choice_shapes;
mod common_subplans;
mod correlated_checks;
mod correlated_columns;
mod date_frames;
mod decimal;
mod distinct_aggregates;
mod dynamic_filters;
mod empty_scans;
mod empty_structs;
mod exact_comparisons;
mod fast_decimals;
mod filter_projections;
mod filters_above;
mod float_decimals;
mod grouping_sets;
mod in_subqueries;
mod inline_functions;
mod join_order;
mod keys;
mod lateral_unnest;
mod leaf_fields;
mod limits_below;
mod long_chains;
mod nested_order;
mod nested_topk;
mod null_rejecting_joins;
mod null_safe_keys;
mod nullable_subqueries;
mod operator_columns;
mod order_once;
mod outer_joins;
mod physical_rules;
mod range_frames;
mod recursive_shapes;
mod required_orders;
mod rule;
mod same_projections;
mod set_comparisons;
mod single_rows;
mod topk_keys;
mod union_shapes;
mod unique_group_names;
mod unnested;
mod unnesting;
mod useless_orders;
mod values_subqueries;
mod volatile_values;
mod window_arguments;

pub use barrier::Barrier;
pub use checked_arithmetic::CheckedArithmetic;
pub use choice_shapes::{with_choice_shapes, with_shapes};
pub use common_subplans::{CommonSubplansPlanner, with_common_subplans};
pub use dynamic_filters::{DynamicFilters, KeySetExec, KeySetTest};
pub use exact_comparisons::{exact_filter, with_exact_comparisons};
pub use fast_decimals::FastDecimals;
pub use inline_functions::inline_functions;
pub use keys::RelationsWithoutKeys;
pub use long_chains::LongChains;
pub use nested_topk::NestedTopK;
pub use null_safe_keys::with_null_safe_keys;
pub use operator_columns::with_operator_columns;
pub use physical_rules::physical_optimizer_rules;
pub use range_frames::RangeFrames;
pub use unique_group_names::with_unique_group_names;
pub use volatile_values::VolatileValues;

use std::sync::Arc;

use datafusion::optimizer::optimizer::Optimizer;
use datafusion::optimizer::{AnalyzerRule, OptimizerRule};

use rule::{Rule, analyzer_rule};

/// DataFusion's analyzer rules, and ours.
pub fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = vec![analyzer_rule("inline_functions", inline_functions::inline_functions)];
    rules.push(analyzer_rule("useless_orders", useless_orders::without_useless_orders));
    // Operands get one type afterwards, also those of the new conditions.
    rules.push(analyzer_rule("unnesting", unnesting::unnested_subqueries));
    rules.extend(float_decimals::analyzer_rules());
    rules.push(analyzer_rule("date_frames", date_frames::date_frames));
    rules.push(analyzer_rule("window_arguments", window_arguments::window_arguments));
    rules.push(analyzer_rule("order_once", order_once::order_once));
    // Before the rule about UNIONs, which uses the metadata of their inputs.
    rules.push(analyzer_rule("choice_shapes", with_choice_shapes));
    rules.push(analyzer_rule("union_shapes", union_shapes::union_shapes));
    rules.push(analyzer_rule("values_subqueries", values_subqueries::values_subqueries));
    rules.push(Arc::new(nested_order::NestedOrder));
    rules.push(analyzer_rule("single_rows", single_rows::single_rows));
    rules.push(analyzer_rule("nullable_subqueries", nullable_subqueries::nullable_subqueries));
    rules.push(analyzer_rule("correlated_columns", correlated_columns::correlated_columns));
    rules.push(analyzer_rule("empty_structs", empty_structs::empty_structs));
    rules.push(analyzer_rule("lateral_unnest", lateral_unnest::lateral_unnest));
    rules.push(analyzer_rule("unnested", unnested::unnested));
    rules
}

/// DataFusion's optimizer rules, some of them replaced by ours.
pub fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    Optimizer::new().rules.into_iter().map(corrected).collect()
}

/// Ours instead of a rule of DataFusion's, or the rule with ours around it, or the rule.
fn corrected(rule: Rule) -> Rule {
    let rule = exact_comparisons::in_place_of_simplifying(null_safe_keys::in_place_of_keys(rule));
    let rule = filters_above::in_place_of_filters(in_subqueries::in_place_of_predicates(rule));
    let rule = set_comparisons::in_place_of_comparisons(same_projections::in_place_of_projections(rule));
    let rule = empty_scans::in_place_of_eliminating(distinct_aggregates::in_place_of_distinct(rule));
    let rule = null_rejecting_joins::in_place_of_outer_joins(rule);
    leaf_fields::around_rules_of_fields(keys::around_rules_of_keys(rule))
}
