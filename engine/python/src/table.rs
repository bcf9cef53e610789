//! A function in Python that returns a table, in a plan. Its inputs are a row with its values, and the tables that it gets.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::function::PythonFunction;
use super::table_exec::PythonTableExec;

/// A call.
#[derive(Debug, Clone)]
pub struct PythonTable {
    function: PythonFunction,
    /// First the row of its values.
    inputs: Vec<LogicalPlan>,
    /// For each input, whether its query says the order of the rows.
    is_ordered: Vec<bool>,
    schema: DFSchemaRef,
}

impl PythonTable {
    /// `columns` are those of the result, in the types of SQL.
    pub fn plan(function: PythonFunction, inputs: Vec<LogicalPlan>, columns: &SchemaRef) -> Result<LogicalPlan> {
        let schema = Arc::new(DFSchema::try_from(Arc::clone(columns))?);
        let is_ordered: Vec<bool> = inputs.iter().map(has_order).collect();
        // DataFusion's planner drops an order in FROM that has no limit (`optimize_subquery_sort`). This one is none, and an optimizer rule
        // removes it.
        let inputs = inputs.into_iter().zip(&is_ordered).map(|(input, is_ordered)| match is_ordered {
            true => LogicalPlanBuilder::from(input).limit(0, None)?.build(),
            false => Ok(input),
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(PythonTable { function, inputs, is_ordered, schema }) }))
    }

    fn name(&self) -> &str {
        &self.function.definition.name
    }
}

/// Whether the query ends with an ORDER BY.
fn has_order(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Limit(_) => {
            plan.inputs().iter().all(|input| has_order(input))
        }
        _ => false,
    }
}

impl PartialEq for PythonTable {
    fn eq(&self, other: &Self) -> bool {
        (&self.function.definition, &self.inputs) == (&other.function.definition, &other.inputs)
    }
}

impl Eq for PythonTable {}

impl PartialOrd for PythonTable {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self == other { Some(Ordering::Equal) } else { self.name().partial_cmp(other.name()).filter(|order| order.is_ne()) }
    }
}

impl Hash for PythonTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.function.definition, &self.inputs).hash(state);
    }
}

impl UserDefinedLogicalNodeCore for PythonTable {
    fn name(&self) -> &str {
        "PythonTable"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonTable: {}", self.name())
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.len() == self.inputs.len() {
            true => Ok(PythonTable { inputs, ..self.clone() }),
            false => plan_err!("{} has {} inputs", self.name(), self.inputs.len()),
        }
    }
}

/// Makes the operator of such a node.
#[derive(Debug)]
pub struct PythonTablePlanner;

#[async_trait]
impl ExtensionPlanner for PythonTablePlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(call) = node.as_any().downcast_ref::<PythonTable>() else { return Ok(None) };
        let schema = Arc::clone(call.schema.inner());
        Ok(Some(Arc::new(PythonTableExec::new(call.function.clone(), inputs.to_vec(), &call.is_ordered, schema))))
    }
}
