//! What is known of rows below grouping sets is not known of the rows above them.
//!
//! Each set leaves out other columns and shows NULL for them: columns that a join makes equal, that a filter makes constant, that rows are
//! sorted or divided by are none of that any more. DataFusion hands all that up, and leaves out sorts and exchanges that are needed then.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;

use super::barrier::Barrier;

/// Before all others, which believe what they are told.
#[derive(Debug)]
pub struct GroupingSets;

impl PhysicalOptimizerRule for GroupingSets {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match node.downcast_ref::<AggregateExec>() {
            Some(aggregate) if aggregate.group_expr().has_grouping_set() => {
                let input: Arc<dyn ExecutionPlan> = Arc::new(Barrier::to_relations(Arc::clone(aggregate.input())));
                Ok(Transformed::yes(replace_children_if_necessary(node, vec![input])?))
            }
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "grouping_sets"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
