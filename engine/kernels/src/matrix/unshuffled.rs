//! Keeps the memory of a result at the few blocks that are made at once.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::repartition::RepartitionExec;

use super::in_place::chosen;

/// Removes operators that distribute the rows of a kernel to several partitions: they first gather as many rows as a batch may have, and
/// rows are blocks here, so that was the whole result. No operator requires a round-robin distribution; the kernel has its own threads.
#[derive(Debug, Default)]
pub struct UnshuffledBlocks;

impl PhysicalOptimizerRule for UnshuffledBlocks {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let dealt = node.downcast_ref::<RepartitionExec>();
            let dealt = dealt.filter(|dealt| matches!(dealt.partitioning(), Partitioning::RoundRobinBatch(_)));
            Ok(match dealt.map(RepartitionExec::input).filter(|input| chosen(input).is_some()) {
                Some(input) => Transformed::yes(Arc::clone(input)),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "unshuffled_blocks"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
