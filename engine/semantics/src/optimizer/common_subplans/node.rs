//! Nodes of a logical plan, for a plan whose subplans are stored while it runs, and for where their rows are read.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use crate::subplans::{CommonSubplansExec, SubplanRows, SubplanScanExec};

/// A plan, and the subplans whose rows it and they read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct CommonSubplans {
    pub plan: LogicalPlan,
    pub subplans: Vec<Subplan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct Subplan {
    pub plan: LogicalPlan,
    pub rows: Arc<SubplanRows>,
}

/// Reads the rows of a subplan.
#[derive(Debug, Clone)]
pub struct SubplanScan {
    pub rows: Arc<SubplanRows>,
    pub schema: DFSchemaRef,
}

impl PartialEq for SubplanScan {
    fn eq(&self, other: &SubplanScan) -> bool {
        self.rows == other.rows
    }
}

impl Eq for SubplanScan {}

impl Hash for SubplanScan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rows.hash(state);
    }
}

impl PartialOrd for SubplanScan {
    fn partial_cmp(&self, other: &SubplanScan) -> Option<Ordering> {
        self.rows.partial_cmp(&other.rows)
    }
}

impl UserDefinedLogicalNodeCore for CommonSubplans {
    fn name(&self) -> &str {
        "CommonSubplans"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        std::iter::once(&self.plan).chain(self.subplans.iter().map(|subplan| &subplan.plan)).collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        self.plan.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommonSubplans: {}", self.subplans.len())
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<CommonSubplans> {
        if inputs.len() != self.subplans.len() + 1 {
            return plan_err!("CommonSubplans has {} inputs", self.subplans.len() + 1);
        }
        let plan = inputs.remove(0);
        let subplans = self.subplans.iter().zip(inputs).map(|(subplan, plan)| Subplan { plan, rows: Arc::clone(&subplan.rows) });
        Ok(CommonSubplans { plan, subplans: subplans.collect() })
    }
}

impl UserDefinedLogicalNodeCore for SubplanScan {
    fn name(&self) -> &str {
        "SubplanScan"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubplanScan: {}", self.rows.number())
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, _: Vec<LogicalPlan>) -> Result<SubplanScan> {
        Ok(self.clone())
    }
}

/// Makes the operators of such nodes.
#[derive(Debug)]
pub struct CommonSubplansPlanner;

#[async_trait]
impl ExtensionPlanner for CommonSubplansPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(scan) = node.as_any().downcast_ref::<SubplanScan>() {
            let schema = Arc::clone(scan.schema.inner());
            let partitions = session.config().target_partitions();
            return Ok(Some(Arc::new(SubplanScanExec::new(Arc::clone(&scan.rows), schema, partitions))));
        }
        let (Some(node), Some((plan, inputs))) = (node.as_any().downcast_ref::<CommonSubplans>(), inputs.split_first()) else {
            return Ok(None);
        };
        for (subplan, input) in node.subplans.iter().zip(inputs) {
            subplan.rows.set_input(input);
        }
        let rows = node.subplans.iter().map(|subplan| Arc::clone(&subplan.rows));
        Ok(Some(Arc::new(CommonSubplansExec::new(Arc::clone(plan), rows.zip(inputs.iter().cloned()).collect()))))
    }
}
