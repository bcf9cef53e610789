//! The joins of a plan, made to yield.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};

use super::paced::PacedExec;

/// The plan, ready to run, with joins that give their thread back every few milliseconds.
pub fn interruptible(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        // A filter can turn down pair after pair within one poll, as many as one batch of the
        // probe side makes with all rows of the other. Without one, every poll ends with a batch.
        let has_filter = match (plan.downcast_ref::<NestedLoopJoinExec>(), plan.downcast_ref::<HashJoinExec>()) {
            (Some(join), _) => join.filter().is_some(),
            (_, Some(join)) => join.filter().is_some(),
            _ if plan.is::<CrossJoinExec>() => false,
            _ => return Ok(Transformed::no(plan)),
        };
        let join = if has_filter { with_paced_probe(plan)? } else { plan };
        Ok(Transformed::yes(Arc::new(PacedExec::whole(join)) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

/// Both joins probe with their right side.
fn with_paced_probe(join: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let [build, probe] = join.children()[..] else { return Ok(join) };
    let children = vec![Arc::clone(build), Arc::new(PacedExec::in_pieces(Arc::clone(probe))) as Arc<dyn ExecutionPlan>];
    replace_children_if_necessary(join, children)
}
