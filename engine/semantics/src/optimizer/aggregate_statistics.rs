//! Aggregates that are answered from statistics, `SELECT count(*) FROM t`.
//!
//! DataFusion searches below an aggregate for the part of it that reads rows. It cannot answer one with FILTER, but it searches on: the
//! next one below is another aggregate, and its answer was used for both, as in
//! `SELECT count(*) FILTER (WHERE c > 1) FROM (SELECT count(*) AS c FROM t)` (take_optimizable of datafusion-physical-optimizer). So a
//! plan with such an aggregate stays as it is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::aggregate_statistics::AggregateStatistics;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};

/// Our rule, if this is DataFusion's for statistics.
pub fn in_place_of_statistics(rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    let theirs = AggregateStatistics::new();
    if rule.name() == theirs.name() { Arc::new(KnownAggregates(theirs)) } else { rule }
}

#[derive(Debug)]
struct KnownAggregates(AggregateStatistics);

impl PhysicalOptimizerRule for KnownAggregates {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if plan.exists(|node| Ok(has_filter(node)))? { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Without groups, the filters are in the part that reads rows.
fn has_filter(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<AggregateExec>().is_some_and(|aggregate| {
        aggregate.mode().input_mode() == AggregateInputMode::Raw
            && aggregate.group_expr().is_empty()
            && aggregate.filter_expr().iter().any(Option::is_some)
    })
}
