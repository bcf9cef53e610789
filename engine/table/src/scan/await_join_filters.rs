//! Scans on the probe side of a join wait for the filter from its build side.
//!
//! Operators that read ahead in tasks of their own start their scans before the join above has its keys, and a scan that starts too early
//! reads rows that it could have skipped.
//!
//! Waiting cannot deadlock, because a plan is a tree: a scan waits for the build side of a join above it, which shares nothing with the
//! scan, and the scans in that side only wait for joins further up. This holds for joins with one build side for all partitions, so only
//! their filters are awaited: with one build side per partition, polling a single partition would wait for the others.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

use crate::scan::StoreScan;
use common::engine_settings::switches;
use semantics::optimizer::KeySetExec;

#[derive(Debug, Default)]
pub struct AwaitJoinFilters;

impl PhysicalOptimizerRule for AwaitJoinFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).await_join_filters {
            return Ok(plan);
        }
        let mut filter_ids = HashSet::new();
        let mut recursive = false;
        plan.apply(|node| {
            // Each round of a recursive query runs its joins anew, with filters that the scans do not know.
            recursive |= node.is::<RecursiveQueryExec>();
            let is_shared = |join: &HashJoinExec| *join.partition_mode() == PartitionMode::CollectLeft;
            if node.is::<KeySetExec>() || node.downcast_ref::<HashJoinExec>().is_some_and(is_shared) {
                filter_ids.extend(node.dynamic_expressions_produced().iter().filter_map(|expr| expr.expression_id()));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        if recursive || filter_ids.is_empty() {
            return Ok(plan);
        }
        let is_awaited = |filter: &DynamicFilterPhysicalExpr| filter.expression_id().is_some_and(|id| filter_ids.contains(&id));
        with_awaiting_scans(plan, &is_awaited)
    }

    fn name(&self) -> &str {
        "await_join_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn with_awaiting_scans(
    node: Arc<dyn ExecutionPlan>,
    is_awaited: &dyn Fn(&DynamicFilterPhysicalExpr) -> bool,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = node.downcast_ref::<DataSourceExec>().and_then(|exec| exec.data_source().downcast_ref::<StoreScan>()) {
        return Ok(scan.awaiting(is_awaited)?.map_or(node, |scan| DataSourceExec::from_data_source(scan)));
    }
    let inputs = node.children().into_iter().map(|input| with_awaiting_scans(Arc::clone(input), is_awaited)).collect::<Result<Vec<_>>>()?;
    match inputs.iter().zip(node.children()).any(|(new, old)| !Arc::ptr_eq(new, old)) {
        // Waiting changes no property of a scan.
        true => node.replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep)),
        false => Ok(node),
    }
}
