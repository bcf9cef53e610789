//! Orders that operators require of their inputs.
//!
//! DataFusion refuses its own plan in some cases (sanity_checker.rs of datafusion-physical-optimizer). In these [`RequiredOrders`] adds a sort:
//! - It passes an order through a UNION to each of its inputs. An input of one row, such as an aggregate without groups, meets each order by
//!   constants and gets no sort. But the UNION as a whole then has no known order (sort_pushdown.rs):
//!   `(SELECT 1 AS a, 2 AS b, sum(x) AS c FROM t) UNION ALL (SELECT x, x, 1 FROM t) ORDER BY c, b, a`.
//! - An aggregate over a join is ordered by a column that is constant in one input. A projection moves into the join, which then does not
//!   know the constant any more (projection_pushdown.rs). The same happens below a window.
//!
//! In others the input has the order, and [`OrderCheck`] finds it: DataFusion computes the range of each expression of an order, and finds
//! no order where that fails (`get_expr_properties` of datafusion-physical-expr). It fails for `sqrt(x)` of a column, for `abs(x - 5)` of
//! integers and for `length(s) > 3`, and a merge of sorted partitions did not find the order of the sort below it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::sanity_checker::{SanityCheckPlan, check_plan_sanity};
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
            for (child, required) in inputs(&node) {
                let mut child = Arc::clone(child);
                if let Some(required) = required
                    && !is_ordered(&child, &required)?
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

/// Our rule, if this is DataFusion's check of the plan.
pub fn in_place_of_check(rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    if rule.name() == SanityCheckPlan::new().name() { Arc::new(OrderCheck) } else { rule }
}

#[derive(Debug)]
struct OrderCheck;

impl PhysicalOptimizerRule for OrderCheck {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.apply(|node| {
            check_plan_sanity(node, &config.optimizer).or_else(|error| if has_unrecognized_order(node)? { Ok(()) } else { Err(error) })?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "SanityCheckPlan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn inputs(node: &Arc<dyn ExecutionPlan>) -> impl Iterator<Item = (&Arc<dyn ExecutionPlan>, Option<LexRequirement>)> {
    let required = node.required_input_ordering().into_iter().map(|required| Some(required?.into_single()));
    node.children().into_iter().zip(required)
}

/// Whether all inputs have their orders, and DataFusion does not recognize one of them.
fn has_unrecognized_order(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut is_unrecognized = false;
    for (child, required) in inputs(node) {
        let Some(required) = required else { continue };
        if !is_ordered(child, &required)? {
            return Ok(false);
        }
        is_unrecognized |= !child.equivalence_properties().ordering_satisfy_requirement(required)?;
    }
    Ok(is_unrecognized)
}

fn is_ordered(input: &Arc<dyn ExecutionPlan>, required: &LexRequirement) -> Result<bool> {
    let properties = input.equivalence_properties();
    if properties.ordering_satisfy_requirement(required.clone())? {
        return Ok(true);
    }
    // An order by the same expressions, without the constant ones.
    let Some(required) = properties.normalize_sort_requirements(required.clone()) else { return Ok(true) };
    let orders = properties.oeq_class().iter().filter_map(|order| properties.normalize_sort_exprs(order.clone()));
    let mut orders = orders.map(LexRequirement::from);
    Ok(orders.any(|order| {
        order.len() >= required.len()
            && order
                .iter()
                .zip(required.iter())
                .all(|(has, requires)| has.expr.eq(&requires.expr) && (requires.options.is_none() || has.options == requires.options))
    }))
}
