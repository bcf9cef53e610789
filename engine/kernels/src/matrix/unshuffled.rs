//! Blocks of a result stay the few that are made at once.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::repartition::RepartitionExec;

use super::in_place::chosen;

/// Takes out what deals the rows of a kernel to several partitions: it gathers as many of them as a batch may have first, and rows
/// are blocks here, so that was the whole result. Nothing asks for rows that are dealt out in turn; the kernel has threads of its own.
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
