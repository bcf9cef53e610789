//! The operator: it reads its inputs, then makes the blocks of the result one after the other.

use std::fmt;
use std::sync::{Arc, Weak};

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column as ColumnExpr;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};

use super::blocks::ColumnIndices;
use super::in_place::InPlaceTable;
use super::layout::Layout;
use super::operation::Operation;
use super::run::Column;
use super::start::batches;
use common::count::count_schema;

/// The operation and its inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    pub operation: Operation,
    /// One or two.
    pub inputs: Vec<Layout>,
    /// The indices of the columns of each input.
    pub places: Vec<ColumnIndices>,
    /// Rows and columns of the blocks of the result.
    pub block: [usize; 2],
}

/// The target of the result.
#[derive(Debug, Clone)]
pub enum Destination {
    /// The reader of the rows.
    Reader,
    /// The table that is being built; the reader gets the number of rows.
    Place(Weak<dyn InPlaceTable>),
}

#[derive(Debug)]
pub struct MatrixExec {
    kernel: Arc<Kernel>,
    plans: Vec<Arc<dyn ExecutionPlan>>,
    /// The columns of the result; norms have none.
    columns: Vec<Column>,
    destination: Destination,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl MatrixExec {
    pub fn new(kernel: Arc<Kernel>, plans: Vec<Arc<dyn ExecutionPlan>>, schema: SchemaRef, columns: Vec<Column>) -> MatrixExec {
        let ordering = LexOrdering::new(order(&kernel, &schema, &columns));
        let properties = properties(EquivalenceProperties::new_with_orderings(schema, ordering));
        MatrixExec { kernel, plans, columns, destination: Destination::Reader, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same result with `columns`, made in place in `place`.
    pub fn in_place(&self, columns: Vec<Column>, place: Weak<dyn InPlaceTable>) -> MatrixExec {
        let properties = properties(EquivalenceProperties::new(count_schema()));
        let destination = Destination::Place(place);
        let (kernel, plans) = (Arc::clone(&self.kernel), self.plans.clone());
        MatrixExec { kernel, plans, columns, destination, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The bytes of a block of the result.
    pub fn block_bytes(&self) -> usize {
        let [rows, columns] = self.kernel.block;
        rows * columns * self.kernel.inputs[0].element.primitive_width().unwrap_or_default()
    }
}

fn properties(equivalences: EquivalenceProperties) -> Arc<PlanProperties> {
    let partitioning = Partitioning::UnknownPartitioning(1);
    Arc::new(PlanProperties::new(equivalences, partitioning, EmissionType::Final, Boundedness::Bounded))
}

/// By i, then by j, as far as these are in the output. In a matrix they are never NULL, so the order is SQL's default one.
fn order(kernel: &Kernel, schema: &SchemaRef, columns: &[Column]) -> Vec<PhysicalSortExpr> {
    let nulls_first = kernel.operation == Operation::Product;
    let key = |key_column: &Column| {
        let place = columns.iter().position(|column| column == key_column)?;
        let expr = Arc::new(ColumnExpr::new(schema.field(place).name(), place));
        Some(PhysicalSortExpr::new(expr, SortOptions { descending: false, nulls_first }))
    };
    [Column::I, Column::J].iter().map_while(key).collect()
}

impl ExecutionPlan for MatrixExec {
    fn name(&self) -> &str {
        "MatrixExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.plans.iter().collect()
    }

    /// All partitions of the inputs are read, however many there are.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.plans.len()]
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != self.plans.len() {
            return internal_err!("{} has {} inputs and was given {}", self.kernel.operation, self.plans.len(), children.len());
        }
        Ok(Arc::new(MatrixExec {
            kernel: Arc::clone(&self.kernel),
            plans: children,
            columns: self.columns.clone(),
            destination: self.destination.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("{} has no partition {partition}", self.kernel.operation);
        }
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let (kernel, plans) = (Arc::clone(&self.kernel), self.plans.clone());
        let (schema, columns) = (self.schema(), self.columns.clone());
        let stream = batches(kernel, plans, schema, columns, self.destination.clone(), context, baseline.elapsed_compute().clone());
        let stream = futures::stream::once(stream).try_flatten();
        // `record_poll` counts rows; the time is measured on the threads that compute.
        let counted = stream.map(move |batch| {
            if let Ok(batch) = &batch {
                baseline.record_output(batch.num_rows());
            }
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), counted)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

impl DisplayAs for MatrixExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatrixExec: {}", self.kernel.operation)?;
        for (number, input) in self.kernel.inputs.iter().enumerate() {
            write!(f, "{} {} in blocks of {}", if number == 0 { " of" } else { "," }, input.name, input.block_text())?;
        }
        Ok(())
    }
}
