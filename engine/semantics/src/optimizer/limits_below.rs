//! A LIMIT below an operator that requires an order applies before the rows are sorted.
//!
//! DataFusion moves the sort below the LIMIT and merges both, which reads all rows where the first ones were enough: a recursive query
//! that ends only by a LIMIT never ended. A LIMIT whose input is already ordered stays as it is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::barrier::Barrier;

/// Runs before the rules that move sorts.
#[derive(Debug)]
pub struct LimitsBelow;

impl PhysicalOptimizerRule for LimitsBelow {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut is_root = true;
        plan.transform_down(|node| {
            // Nothing above these operators requires an order.
            is_root &= node.is::<ProjectionExec>();
            let takes_first_rows = |child: &Arc<dyn ExecutionPlan>| child.is::<GlobalLimitExec>() && child.output_ordering().is_none();
            let children = node.children();
            if is_root || node.is::<Barrier>() || !children.iter().any(|child| takes_first_rows(child)) {
                return Ok(Transformed::no(node));
            }
            let children = children.into_iter().map(|child| -> Arc<dyn ExecutionPlan> {
                if takes_first_rows(child) { Arc::new(Barrier::new(Arc::clone(child))) } else { Arc::clone(child) }
            });
            let children = children.collect();
            Ok(Transformed::yes(replace_children_if_necessary(node, children)?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "limits_below"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
