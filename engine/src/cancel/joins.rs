//! The joins of a plan, made to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder};

use super::guard::Guard;
use super::yielding::YieldingExec;

/// The plan, ready to run, whose joins stop when `cancelled` is set.
pub fn interruptible(plan: Arc<dyn ExecutionPlan>, cancelled: &Arc<AtomicBool>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let guarded = if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            nested_loop(join, cancelled)?
        } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            hash(join, cancelled)?
        } else if plan.is::<CrossJoinExec>() {
            None
        } else {
            return Ok(Transformed::no(plan));
        };
        let guarded = guarded.unwrap_or_else(|| Arc::clone(&plan));
        Ok(Transformed::yes(Arc::new(YieldingExec::new(guarded, &plan)) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

fn nested_loop(join: &NestedLoopJoinExec, cancelled: &Arc<AtomicBool>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = join.filter() else { return Ok(None) };
    let join = NestedLoopJoinExecBuilder::new(Arc::clone(join.left()), Arc::clone(join.right()), *join.join_type())
        .with_filter(Some(guarded(filter, cancelled)))
        .with_projection_ref(join.projection().clone());
    Ok(Some(Arc::new(join.build()?)))
}

fn hash(join: &HashJoinExec, cancelled: &Arc<AtomicBool>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = join.filter() else { return Ok(None) };
    join.builder().with_filter(Some(guarded(filter, cancelled))).build_exec().map(Some)
}

fn guarded(filter: &JoinFilter, cancelled: &Arc<AtomicBool>) -> JoinFilter {
    let guard = Guard { filter: Arc::clone(filter.expression()), cancelled: Arc::clone(cancelled) };
    JoinFilter::new(Arc::new(guard), filter.column_indices().to_vec(), Arc::clone(filter.schema()))
}
