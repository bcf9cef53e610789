//! The top of the plan of a statement that changes rows.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexRequirement, PhysicalSortRequirement};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::operation::{ChangeInput, NEW_ROW_START, Operation};
use super::sink::ChangeSink;
use common::count::count_schema;
use table::catalog::StoreTable;

/// Changes the rows of a table as its input says; yields the number of changed rows.
#[derive(Debug, Clone)]
pub struct ChangeRows {
    operation: Operation,
    table: Arc<StoreTable>,
    what: ChangeInput,
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl ChangeRows {
    pub fn new(operation: Operation, table: Arc<StoreTable>, what: ChangeInput, input: LogicalPlan) -> Result<ChangeRows> {
        let schema = Arc::new(DFSchema::try_from(count_schema())?);
        Ok(ChangeRows { operation, table, what, input, schema })
    }

    fn key(&self) -> (Operation, ChangeInput, u64, &LogicalPlan) {
        (self.operation, self.what, self.table.snapshot.record().id, &self.input)
    }
}

pub fn is_change(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Extension(Extension { node }) => node.as_any().is::<ChangeRows>(),
        _ => false,
    }
}

impl PartialEq for ChangeRows {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ChangeRows {}

impl PartialOrd for ChangeRows {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.key().partial_cmp(&other.key())
    }
}

impl Hash for ChangeRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl UserDefinedLogicalNodeCore for ChangeRows {
    fn name(&self) -> &str {
        "ChangeRows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.table.snapshot.record();
        write!(f, "ChangeRows: {} table={}.{}", self.operation.name(), record.namespace, record.name)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(ChangeRows { input, ..self.clone() }),
            _ => plan_err!("{} has one input", self.operation.name()),
        }
    }
}

/// DataFusion's planner, extended by this node.
#[derive(Debug)]
pub struct RowChangePlanner;

#[async_trait]
impl ExtensionPlanner for RowChangePlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(change) = node.as_any().downcast_ref::<ChangeRows>() else { return Ok(None) };
        let [input] = inputs else { return plan_err!("{} has one input", change.operation.name()) };
        let order = if change.what == ChangeInput::Changed { cluster_order(&change.table) } else { None };
        let sink = ChangeSink::new(change.operation, Arc::clone(&change.table), change.what, nullable(&input.schema()));
        Ok(Some(Arc::new(DataSinkExec::new(Arc::clone(input), Arc::new(sink), order))))
    }
}

/// New rows must be sorted by the table's key.
fn cluster_order(table: &StoreTable) -> Option<LexRequirement> {
    let order = table.snapshot.record().cluster_key.iter().filter_map(|order| {
        let index = table.snapshot.schema().index_of(&order.column).ok()?;
        let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
        Some(PhysicalSortRequirement::new(Arc::new(Column::new(&order.column, NEW_ROW_START + index)), Some(options)))
    });
    LexRequirement::new(order.collect::<Vec<_>>())
}

/// Violations of NOT NULL are found when rows are written: that error names table, column and row.
fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
