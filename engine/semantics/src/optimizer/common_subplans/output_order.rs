//! The order of a statement's rows.
//!
//! DataFusion's rule looks for the sort that the statement asks for below operators with one input, and keeps it
//! (datafusion-physical-optimizer 55.2, output_requirements.rs). An operator with several inputs hides it: a sort by a column that is not
//! selected would be removed.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;

use crate::subplans::CommonSubplansExec;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// DataFusion's rule, applied to the plan that reads the subplans.
#[derive(Debug)]
pub struct OutputOrder(Rule);

impl OutputOrder {
    /// Our rule, if this is DataFusion's that keeps the order, and any other rule as it is.
    pub fn in_place_of_requirements(rule: Rule) -> Rule {
        match rule.name() == OutputRequirements::new_add_mode().name() {
            true => Arc::new(OutputOrder(rule)),
            false => rule,
        }
    }

    fn below(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
        let Some(first) = children.first_mut() else { return Ok(plan) };
        *first = match plan.is::<CommonSubplansExec>() {
            true => self.0.optimize(Arc::clone(first), config)?,
            false => self.below(Arc::clone(first), config)?,
        };
        replace_children_if_necessary(plan, children)
    }
}

impl PhysicalOptimizerRule for OutputOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        match plan.exists(|node| Ok(node.is::<CommonSubplansExec>()))? {
            true => self.below(plan, config),
            false => self.0.optimize(plan, config),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}
