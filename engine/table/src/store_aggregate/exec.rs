//! The operator.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, ReplaceChildrenOptions,
};

use super::integers::IntegerExprs;
use super::stream::StoreAggregateStream;
use crate::scan::StoreScan;

/// What all partitions of an aggregate have in common.
#[derive(Debug)]
pub struct AggregatePlan {
    /// Columns of the scan, and their declared types.
    pub keys: Vec<usize>,
    pub key_types: Vec<DataType>,
    pub functions: Vec<FunctionPlan>,
    pub integers: IntegerExprs,
    /// The integer expressions that are added up.
    pub sums: Vec<usize>,
    /// Of the scan.
    pub column_count: usize,
}

#[derive(Debug)]
pub struct FunctionPlan {
    pub function: Arc<AggregateFunctionExpr>,
    /// The columns of the scan that the arguments read.
    pub columns: Vec<usize>,
    pub schema: SchemaRef,
    /// Over these columns.
    pub arguments: Vec<Arc<dyn PhysicalExpr>>,
    pub state_types: Vec<DataType>,
    pub shortcut: Shortcut,
}

impl FunctionPlan {
    /// `arguments` are over the scan, which has the schema `scan`.
    pub fn new(
        function: &Arc<AggregateFunctionExpr>,
        arguments: Vec<Arc<dyn PhysicalExpr>>,
        state_types: Vec<DataType>,
        shortcut: Shortcut,
        scan: &Schema,
    ) -> Result<FunctionPlan> {
        let mut columns: Vec<usize> = arguments.iter().flat_map(collect_columns).map(|column| column.index()).collect();
        columns.sort_unstable();
        columns.dedup();
        let among_columns = |argument: Arc<dyn PhysicalExpr>| {
            argument
                .transform_up(|node| {
                    let place = node.downcast_ref::<Column>().and_then(|column| {
                        let place = columns.iter().position(|other| *other == column.index())?;
                        Some(Column::new(column.name(), place))
                    });
                    Ok(place.map_or_else(|| Transformed::no(Arc::clone(&node)), |column| Transformed::yes(Arc::new(column) as _)))
                })
                .data()
        };
        let arguments = arguments.into_iter().map(among_columns).collect::<Result<_>>()?;
        Ok(FunctionPlan {
            function: Arc::clone(function),
            schema: Arc::new(scan.project(&columns)?),
            columns,
            arguments,
            state_types,
            shortcut,
        })
    }
}

/// How rows are added without the accumulator of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortcut {
    None,
    /// One of the plan's sums.
    Sum(usize),
    Average(usize),
    /// All rows, or those with a value in this column of the scan.
    Count(Option<usize>),
}

#[derive(Debug)]
pub struct StoreAggregateExec {
    /// Those of the aggregate that it takes the place of.
    properties: Arc<PlanProperties>,
    scan: Arc<dyn ExecutionPlan>,
    plan: Arc<AggregatePlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl StoreAggregateExec {
    pub fn new(properties: Arc<PlanProperties>, scan: Arc<dyn ExecutionPlan>, plan: Arc<AggregatePlan>) -> StoreAggregateExec {
        StoreAggregateExec { properties, scan, plan, metrics: ExecutionPlanMetricsSet::new() }
    }
}

/// The scan of a table that a plan is.
pub fn store_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<&StoreScan> {
    plan.downcast_ref::<DataSourceExec>().and_then(|exec| exec.data_source().downcast_ref::<StoreScan>())
}

impl DisplayAs for StoreAggregateExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.scan.schema();
        let keys = self.plan.keys.iter().map(|key| schema.field(*key).name().as_str()).collect::<Vec<_>>().join(", ");
        let functions = self.plan.functions.iter().map(|plan| plan.function.name()).collect::<Vec<_>>().join(", ");
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "StoreAggregateExec: gby=[{keys}], aggr=[{functions}]")
            }
            DisplayFormatType::TreeRender => writeln!(f, "gby={keys}"),
        }
    }
}

impl ExecutionPlan for StoreAggregateExec {
    fn name(&self) -> &str {
        "StoreAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        for argument in self.plan.functions.iter().flat_map(|plan| &plan.arguments) {
            if f(argument)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions = self.scan.output_partitioning().partition_count();
        match (children.pop(), children.is_empty()) {
            (Some(scan), true) if store_scan(&scan).is_some() && scan.output_partitioning().partition_count() == partitions => {
                Ok(Arc::new(StoreAggregateExec::new(Arc::clone(&self.properties), scan, Arc::clone(&self.plan))))
            }
            _ => internal_err!("StoreAggregateExec has the scan of a table as its only input, with as many partitions as before"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(scan) = store_scan(&self.scan) else { return internal_err!("StoreAggregateExec has lost its scan") };
        let rows = scan.open_stored(partition, &context)?;
        let reservation =
            MemoryConsumer::new(format!("StoreAggregateExec[{partition}]")).with_can_spill(true).register(context.memory_pool());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(Box::pin(StoreAggregateStream::new(rows, Arc::clone(&self.plan), self.schema(), reservation, metrics)?))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
