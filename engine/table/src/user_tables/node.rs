//! A call of a function that returns a table, in a plan. Its inputs are a row with its values, and the tables that it gets.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::exec::UserTableExec;
use super::function::TableFunction;
use common::error::EngineError;
use semantics::plan_order::{Order, order_of};

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserTable {
    pub function: Arc<TableFunction>,
    /// First the row of its values. Without any, the row has a column all the same.
    inputs: Vec<LogicalPlan>,
    /// For each input, whether its query says the order of the rows.
    is_ordered: Vec<bool>,
    schema: DFSchemaRef,
}

impl UserTable {
    /// A call with a row of its values, and its tables.
    pub fn plan(function: &Arc<TableFunction>, inputs: Vec<LogicalPlan>) -> Result<LogicalPlan> {
        let schema = Arc::new(DFSchema::try_from(Arc::clone(&function.columns))?);
        let is_ordered = inputs.iter().map(|input| has_order(function, input)).collect::<Result<Vec<bool>>>()?;
        let node = UserTable { function: Arc::clone(function), inputs, is_ordered, schema };
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    fn name(&self) -> &str {
        &self.function.name
    }
}

/// Whether the query says the order of the rows.
///
/// # Errors
///
/// It is not an order by columns of the query: operators above the sort forget it.
fn has_order(function: &TableFunction, plan: &LogicalPlan) -> Result<bool> {
    match order_of(plan) {
        Order::Free => Ok(false),
        Order::By(_) => Ok(true),
        // The order of a view or a subquery in FROM is not that of the query.
        Order::Lost if is_of_relation(plan) => Ok(false),
        Order::Lost => {
            let message = format!("a table that {} gets is ordered by what is no column of it", function.name);
            let hint = Some("select what it is ordered by".to_string());
            Err(EngineError::Sql { message, position: None, hint }.into_datafusion())
        }
    }
}

/// Whether the query has no ORDER BY of its own.
fn is_of_relation(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_of_relation(&projection.input),
        LogicalPlan::Filter(filter) => is_of_relation(&filter.input),
        LogicalPlan::SubqueryAlias(_) => true,
        _ => false,
    }
}

impl PartialOrd for UserTable {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self == other { Some(Ordering::Equal) } else { self.name().partial_cmp(other.name()).filter(|order| order.is_ne()) }
    }
}

impl UserDefinedLogicalNodeCore for UserTable {
    fn name(&self) -> &str {
        "UserTable"
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
        write!(f, "UserTable: {}", self.name())
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.len() == self.inputs.len() {
            true => Ok(UserTable { inputs, ..self.clone() }),
            false => plan_err!("{} has {} inputs", self.name(), self.inputs.len()),
        }
    }
}

/// Makes the operator of such a node.
#[derive(Debug)]
pub struct UserTablePlanner;

#[async_trait]
impl ExtensionPlanner for UserTablePlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(call) = node.as_any().downcast_ref::<UserTable>() else { return Ok(None) };
        Ok(Some(Arc::new(UserTableExec::new(&call.function, inputs.to_vec(), &call.is_ordered))))
    }
}
