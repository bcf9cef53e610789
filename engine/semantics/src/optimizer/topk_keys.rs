//! Top groups by an aggregate, `GROUP BY x ORDER BY max(y) LIMIT 5`, with float keys.
//!
//! DataFusion keeps only that many groups, and looks up the group of a key with an equality that is false for NaN: each NaN made a new
//! group, and a group to evict was not found. So all such groups are kept, as without the LIMIT.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::topk_aggregation::TopKAggregation;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;

/// Our rule, if this is DataFusion's that limits the groups of aggregates.
pub fn in_place_of_topk(rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    let theirs = TopKAggregation::new();
    if rule.name() == theirs.name() { Arc::new(TopKKeys(theirs)) } else { rule }
}

#[derive(Debug)]
struct TopKKeys(TopKAggregation);

impl PhysicalOptimizerRule for TopKKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.0.optimize(plan, config)?;
        plan.transform_up(|node| match node.downcast_ref::<AggregateExec>() {
            Some(aggregate) if keeps_few_floats(aggregate) => Ok(Transformed::yes(Arc::new(aggregate.with_new_limit_options(None)))),
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn keeps_few_floats(aggregate: &AggregateExec) -> bool {
    let input = aggregate.input().schema();
    let mut keys = aggregate.group_expr().expr().iter();
    // Without an order it is the LIMIT of a DISTINCT, which uses the normal lookup.
    aggregate.limit_options().is_some_and(|limit| limit.descending.is_some())
        && keys.any(|(key, _)| key.data_type(&input).is_ok_and(|data_type| data_type.is_floating()))
}
