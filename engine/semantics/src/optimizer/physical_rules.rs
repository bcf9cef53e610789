//! The rules for physical plans, and their order.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

use super::aggregate_statistics::in_place_of_statistics;
use super::common_subplans::OutputOrder;
use super::dynamic_filters::DynamicFilters;
use super::filter_projections::in_place_of_projections;
use super::grouping_sets::GroupingSets;
use super::join_order::JoinOrder;
use super::limits_below::LimitsBelow;
use super::outer_joins::OuterJoins;
use super::required_orders::{RequiredOrders, in_place_of_check};
use super::topk_keys::in_place_of_topk;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// DataFusion's physical optimizer rules, some of them replaced by ours.
pub fn physical_optimizer_rules() -> Vec<Rule> {
    let (static_filters, dynamic_filters) = (FilterPushdown::new(), FilterPushdown::new_post_optimization());
    let rules = PhysicalOptimizer::new().rules.into_iter();
    let rules = rules.map(in_place_of_topk).map(in_place_of_statistics);
    let rules = rules.map(in_place_of_projections).map(in_place_of_check).map(OutputOrder::in_place_of_requirements);
    let mut all: Vec<Rule> = vec![Arc::new(GroupingSets), Arc::new(OuterJoins), Arc::new(LimitsBelow)];
    for rule in rules {
        // Reordered joins know more constants, and the rule that removes sorts relies on them.
        if rule.name() == EnsureRequirements::new().name() {
            all.push(Arc::new(OuterJoins));
        }
        if rule.name() == JoinSelection::new().name() {
            all.push(Arc::new(JoinOrder));
        }
        if rule.name() == dynamic_filters.name() {
            // Sorts are added before operators have dynamic filters: a copy of an operator would have others than its scan.
            all.push(Arc::new(RequiredOrders));
            all.push(Arc::new(DynamicFilters));
        } else if rule.name() == static_filters.name() {
            all.push(Arc::new(ScanConditions(rule)));
        } else {
            all.push(rule);
        }
    }
    all
}

/// Conditions directly above a scan go into it: those with a scalar subquery stay above it in a logical plan. Most others are in the scan then,
/// and further up DataFusion's rule would go by the names of columns, of which an operator may have one twice.
#[derive(Debug)]
struct ScanConditions(Rule);

impl PhysicalOptimizerRule for ScanConditions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let is_above_scan = |filter: &FilterExec| filter.input().children().is_empty();
        plan.transform_up(|node| match node.downcast_ref::<FilterExec>().is_some_and(is_above_scan) {
            true => Ok(Transformed::yes(self.0.optimize(node, config)?)),
            false => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "scan_conditions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
