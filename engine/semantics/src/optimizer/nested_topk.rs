//! `ORDER BY x LIMIT 5` for lists, structs, maps and intervals.
//!
//! DataFusion keeps the first few rows, and skips rows of the next batch that are not `<` the last of them. The order of `<` differs from
//! that of the rows for such values (`TopK::insert_batch`, datafusion-physical-plan/src/topk). So all rows are sorted, as without the
//! LIMIT.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::dynamic_filters::has_no_order;

/// Runs after the rules that move limits.
#[derive(Debug)]
pub struct NestedTopK;

impl PhysicalOptimizerRule for NestedTopK {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(Transformed::no(node)) };
            match sort.fetch() {
                Some(fetch) if sort.expr().iter().any(|key| has_no_order(&key.expr, &sort.input().schema())) => {
                    Ok(Transformed::yes(Arc::new(LocalLimitExec::new(Arc::new(sort.with_fetch(None)), fetch))))
                }
                _ => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "nested_topk"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
