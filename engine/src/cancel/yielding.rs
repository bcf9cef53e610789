//! A join that gives its thread back now and then.
//!
//! One batch of its input can make thousands of batches of output, one per poll, and an aggregate
//! above polls as long as there are some. Tokio's budget, which scans spend, ends that here too.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};

#[derive(Debug)]
pub struct YieldingExec {
    join: Arc<dyn ExecutionPlan>,
    /// Those of the join as it was planned. That they are the same object tells the operators above
    /// that nothing has changed: they keep the dynamic filters they share with scans.
    properties: Arc<PlanProperties>,
}

impl YieldingExec {
    pub fn new(join: Arc<dyn ExecutionPlan>, planned: &Arc<dyn ExecutionPlan>) -> Self {
        YieldingExec { join, properties: Arc::clone(planned.properties()) }
    }
}

impl ExecutionPlan for YieldingExec {
    fn name(&self) -> &str {
        "YieldingExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.join]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.pop()) {
            (Some(join), None) => Ok(Arc::new(YieldingExec { properties: Arc::clone(join.properties()), join })),
            _ => internal_err!("YieldingExec has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(datafusion::physical_plan::ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(make_cooperative(self.join.execute(partition, context)?))
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [join] => Ok(Arc::clone(join)),
            _ => internal_err!("YieldingExec has one child"),
        }
    }
}

impl DisplayAs for YieldingExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "YieldingExec")
    }
}
