//! Sorts an input that lacks the order which its operator requires.
//!
//! DataFusion refuses its own plan in some cases (sanity_checker.rs of datafusion-physical-optimizer):
//! - It passes an order through a UNION to each of its inputs. An input of one row, such as an aggregate without groups, meets each order by
//!   constants and gets no sort. But the UNION as a whole then has no known order (sort_pushdown.rs):
//!   `(SELECT 1 AS a, 2 AS b, sum(x) AS c FROM t) UNION ALL (SELECT x, x, 1 FROM t) ORDER BY c, b, a`.
//! - An aggregate over a join is ordered by a column that is constant in one input. A projection moves into the join, which then does not
//!   know the constant any more (projection_pushdown.rs). The same happens below a window.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

/// Runs after the rules that move sorts and projections.
#[derive(Debug)]
pub struct RequiredOrders;

impl PhysicalOptimizerRule for RequiredOrders {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let mut has_changed = false;
            let mut children = Vec::new();
            for (child, required) in node.children().into_iter().zip(node.required_input_ordering()) {
                let mut child = Arc::clone(child);
                if let Some(required) = required.map(|required| required.into_single())
                    && !child.equivalence_properties().ordering_satisfy_requirement(required.clone())?
                {
                    let is_partitioned = child.output_partitioning().partition_count() > 1;
                    child = Arc::new(SortExec::new(required.into(), child).with_preserve_partitioning(is_partitioned));
                    has_changed = true;
                }
                children.push(child);
            }
            Ok(if has_changed { Transformed::yes(replace_children_if_necessary(node, children)?) } else { Transformed::no(node) })
        })
        .data()
    }

    fn name(&self) -> &str {
        "required_orders"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
