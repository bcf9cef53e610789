//! Properties of the rows of one side do not hold above an outer join that fills that side with NULLs.
//!
//! DataFusion treats a column that is constant below, as in `t LEFT JOIN (SELECT a, 5 AS c FROM u) x ON …`, as constant above, too: it
//! removed `ORDER BY x.c`, and the groups and windows of `x.c` were split (EquivalenceGroup::join of datafusion-physical-expr).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::JoinType;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, PiecewiseMergeJoinExec, SortMergeJoinExec, SymmetricHashJoinExec,
};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::barrier::Barrier;

/// Runs before all other rules, which rely on the properties, and again before the rule about sorts.
#[derive(Debug)]
pub struct OuterJoins;

impl PhysicalOptimizerRule for OuterJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let filled = match join_type(&node) {
                Some(JoinType::Left) => [false, true],
                Some(JoinType::Right) => [true, false],
                Some(JoinType::Full) => [true, true],
                _ => return Ok(Transformed::no(node)),
            };
            let is_misled = |child: &Arc<dyn ExecutionPlan>| child.equivalence_properties().eq_group().iter().next().is_some();
            let children = node.children().into_iter().zip(filled).map(|(child, is_filled)| -> Arc<dyn ExecutionPlan> {
                if is_filled && is_misled(child) { Arc::new(Barrier::new(Arc::clone(child))) } else { Arc::clone(child) }
            });
            let children = children.collect();
            Ok(Transformed::yes(replace_children_if_necessary(node, children)?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "outer_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type(node: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        Some(*join.join_type())
    } else if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        Some(*join.join_type())
    } else if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        Some(join.join_type())
    } else if let Some(join) = node.downcast_ref::<PiecewiseMergeJoinExec>() {
        Some(join.join_type())
    } else {
        node.downcast_ref::<SymmetricHashJoinExec>().map(|join| *join.join_type())
    }
}
