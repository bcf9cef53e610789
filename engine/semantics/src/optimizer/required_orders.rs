//! Orders that operators require of their inputs.
//!
//! DataFusion refuses its own plan in some cases (sanity_checker.rs of datafusion-physical-optimizer). In these [`RequiredOrders`] adds a sort:
//! - It passes an order through a UNION to each of its inputs. An input of one row, such as an aggregate without groups, meets each order by
//!   constants and gets no sort. But the UNION as a whole then has no known order (sort_pushdown.rs):
//!   `(SELECT 1 AS a, 2 AS b, sum(x) AS c FROM t) UNION ALL (SELECT x, x, 1 FROM t) ORDER BY c, b, a`.
//! - An aggregate over a join is ordered by a column that is constant in one input. A projection moves into the join, which then does not
//!   know the constant any more (projection_pushdown.rs). The same happens below a window.
//!
//! In others the input has the order. DataFusion computes the range of each expression of an order, and finds no order where that fails
//! (`get_expr_properties` of datafusion-physical-expr). It fails for `sqrt(x)` of a column, for `abs(x - 5)` of integers and for
//! `length(s) > 3`: a merge of sorted partitions did not find the order of the sort below it. So [`PlanCheck`] takes the place of DataFusion's
//! check, and [`RequiredOrders`] removes the sorts that it adds above an order that it does not find.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_expr_common::sort_expr::format_physical_sort_requirement_list;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::sanity_checker::{SanityCheckPlan, check_finiteness_requirements};
use datafusion::physical_plan::execution_plan::{InvariantLevel, replace_children_if_necessary};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildSatisfactionOptions, ExecutionPlan, ExecutionPlanProperties, get_plan_string};

/// Runs after the rules that move sorts and projections.
#[derive(Debug)]
pub struct RequiredOrders;

impl PhysicalOptimizerRule for RequiredOrders {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match sorted_input(&node)? {
            Some(input) => Ok(Transformed::yes(input)),
            None => with_sorted_inputs(node),
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

/// The input of a sort, if it has the order of the sort.
fn sorted_input(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = node.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_none()) else { return Ok(None) };
    let is_whole = sort.preserve_partitioning() || sort.input().output_partitioning().partition_count() == 1;
    let is_sorted = is_whole && is_ordered(sort.input(), &LexRequirement::from(sort.expr().clone()))?;
    Ok(is_sorted.then(|| Arc::clone(sort.input())))
}

fn with_sorted_inputs(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
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
}

/// Our rule, if this is DataFusion's check of the plan.
pub fn in_place_of_check(rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    if rule.name() == SanityCheckPlan::new().name() { Arc::new(PlanCheck) } else { rule }
}

#[derive(Debug)]
struct PlanCheck;

impl PhysicalOptimizerRule for PlanCheck {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.apply(|node| {
            check(node, config)?;
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

fn check(node: &Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<()> {
    check_finiteness_requirements(node.as_ref(), &config.optimizer)?;
    let distributions = node.input_distribution_requirements();
    let with_subsets = ChildSatisfactionOptions::new().with_allow_subset(true);
    for (index, (child, required)) in inputs(node).enumerate() {
        if let Some(required) = required
            && !is_ordered(child, &required)?
        {
            let (plan, required) = (get_plan_string(node), format_physical_sort_requirement_list(&required));
            return internal_err!("input {index} lacks the order {required} in {plan:?}");
        }
        if !distributions.child_satisfaction(index, child.as_ref(), with_subsets)?.is_satisfied() {
            return internal_err!("input {index} lacks the distribution in {:?}", get_plan_string(node));
        }
    }
    node.check_invariants(InvariantLevel::Executable)
}

fn inputs(node: &Arc<dyn ExecutionPlan>) -> impl Iterator<Item = (&Arc<dyn ExecutionPlan>, Option<LexRequirement>)> {
    let required = node.required_input_ordering().into_iter().map(|required| Some(required?.into_single()));
    node.children().into_iter().zip(required)
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
