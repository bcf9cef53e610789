//! Makes a finished plan cancellable.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;

use super::elements::Elements;
use super::expression::{CancelWatch, ReaderHandle};
use super::operators::with_cancellable_expressions;
use super::paced::PacedExec;
use crate::subplans::SubplanScanExec;

/// The plan with operators that yield every few milliseconds, and expressions that fail when the reader is dropped. The memory of the
/// expressions counts in `pool`.
pub fn interruptible(plan: Arc<dyn ExecutionPlan>, pool: Option<&Arc<dyn MemoryPool>>) -> Result<(Arc<dyn ExecutionPlan>, ReaderHandle)> {
    let reader = ReaderHandle::default();
    let watch = reader.watched(pool);
    let plan = plan.transform_up(|plan| interruptible_operator(plan, &watch)).data()?;
    Ok((plan, reader))
}

fn interruptible_operator(plan: Arc<dyn ExecutionPlan>, watch: &CancelWatch) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let new = with_pieces_of_lists(with_paced_probe(Arc::clone(&plan))?)?;
    let new = with_cancellable_expressions(new, watch)?;
    if Arc::ptr_eq(&new, &plan) && only_passes_on(&plan) {
        return Ok(Transformed::no(plan));
    }
    Ok(Transformed::yes(Arc::new(PacedExec::in_place_of(&plan, new))))
}

/// Whether the operator reads an input batch for each output batch, so that a pause of its input is a pause of its own. All others may
/// have many batches ready, and a reader such as a sum would read all of them in one step: tokio's own budget is 128 batches, however long
/// each takes.
fn only_passes_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<UnionExec>()
}

/// A filter can reject pair after pair within one poll, as many as one batch of the probe side makes with all rows of the other side.
/// Without a filter, every poll ends with a batch.
fn with_paced_probe(join: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let loops = join.downcast_ref::<NestedLoopJoinExec>();
    let has_filter = match (loops, join.downcast_ref::<HashJoinExec>()) {
        (Some(join), _) => join.filter().is_some(),
        (_, Some(join)) => join.filter().is_some(),
        _ => false,
    };
    // Both joins probe with their right side.
    let children: Vec<Arc<dyn ExecutionPlan>> = match join.children()[..] {
        [build, probe] if loops.is_some() || has_filter => {
            let runs_once = loops.is_some_and(|join| *join.join_type() != JoinType::Inner) || loops.is_some() && is_divided(build)?;
            let build = if runs_once { Arc::new(PacedExec::run_once(Arc::clone(build))) } else { Arc::clone(build) };
            vec![build, if has_filter { Arc::new(PacedExec::in_pieces(Arc::clone(probe))) } else { Arc::clone(probe) }]
        }
        _ => return Ok(join),
    };
    replace_children_if_necessary(join, children)
}

/// Whether an operator is somewhere below that can run only once.
fn is_divided(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| Ok(node.is::<RepartitionExec>() || node.is::<SubplanScanExec>()))
}

fn with_pieces_of_lists(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(node) = plan.downcast_ref::<UnnestExec>() else { return Ok(plan) };
    let pieces: Arc<dyn ExecutionPlan> = Arc::new(PacedExec::in_pieces_of_lists(Arc::clone(node.input()), Elements::of(node)?));
    replace_children_if_necessary(Arc::clone(&plan), vec![pieces])
}
