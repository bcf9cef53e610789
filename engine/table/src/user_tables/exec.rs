//! The operator: it reads its inputs, calls the function with all of them, and yields the rows of its result.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, OrderingRequirements, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, ReplaceChildrenOptions,
};
use futures::TryStreamExt;

use super::function::TableFunction;
use common::error::EngineError;
use common::memory::{LiveMemory, StatementMemory};
use common::report::ReportCollector;
use common::user_functions::TableInput;
use kernels::gather::collect_batches;
use kernels::threads::in_background;

#[derive(Debug)]
pub struct UserTableExec {
    function: Arc<TableFunction>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    /// The order in which the function gets the rows of each input, if its query says one.
    orders: Vec<Option<OrderingRequirements>>,
    properties: Arc<PlanProperties>,
}

impl UserTableExec {
    pub fn new(function: &Arc<TableFunction>, inputs: Vec<Arc<dyn ExecutionPlan>>, is_ordered: &[bool]) -> UserTableExec {
        let order = |(input, is_ordered): (&Arc<dyn ExecutionPlan>, &bool)| {
            input.output_ordering().filter(|_| *is_ordered).cloned().map(OrderingRequirements::from)
        };
        let orders = inputs.iter().zip(is_ordered).map(order).collect();
        let equivalences = EquivalenceProperties::new(Arc::clone(&function.columns));
        let partitioning = Partitioning::UnknownPartitioning(1);
        let properties = PlanProperties::new(equivalences, partitioning, EmissionType::Final, Boundedness::Bounded);
        UserTableExec { function: Arc::clone(function), inputs, orders, properties: Arc::new(properties) }
    }
}

impl DisplayAs for UserTableExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => write!(f, "UserTableExec: {}", self.function.name),
            DisplayFormatType::TreeRender => writeln!(f, "{}", self.function.name),
        }
    }
}

impl ExecutionPlan for UserTableExec {
    fn name(&self) -> &str {
        "UserTableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.orders.clone()
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        let of = |order: &Option<OrderingRequirements>| match order {
            Some(_) => Distribution::SinglePartition,
            None => Distribution::UnspecifiedDistribution,
        };
        self.orders.iter().map(of).collect()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>, _: ReplaceChildrenOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let (function, orders, properties) = (Arc::clone(&self.function), self.orders.clone(), Arc::clone(&self.properties));
        Ok(Arc::new(UserTableExec { function, inputs, orders, properties }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("UserTableExec has no partition {partition}");
        }
        let (function, inputs) = (Arc::clone(&self.function), self.inputs.clone());
        let rows = async move { Result::<_>::Ok(futures::stream::iter(rows(function, &inputs, context).await?.into_iter().map(Ok))) };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::once(rows).try_flatten())))
    }
}

async fn rows(function: Arc<TableFunction>, inputs: &[Arc<dyn ExecutionPlan>], context: Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
    let reservation = Arc::new(MemoryConsumer::new(format!("function {}", function.name)).register(context.memory_pool()));
    let batches = collect_batches(inputs, &context, &reservation).await?;
    let Some(memory) = StatementMemory::of(context.session_config().options()).cloned() else {
        return internal_err!("a function is called outside of a statement");
    };
    let schemas: Vec<SchemaRef> = inputs.iter().map(|input| input.schema()).collect();
    in_background(move |_| {
        let collector = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
        let mut in_place = LiveMemory::default();
        in_place.look_at(&collector);
        let inputs: Vec<TableInput> = schemas.into_iter().zip(batches).map(|(schema, batches)| TableInput { schema, batches }).collect();
        let results = function.kernel.code.call(&inputs, &in_place, &memory).map_err(EngineError::into_datafusion)?;
        // What the function gave back may be larger than a batch of the engine.
        Ok(results.iter().flat_map(|result| pieces(result, context.session_config().batch_size())).collect())
    })
    .await
}

fn pieces(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    (0..batch.num_rows()).step_by(rows).map(move |start| batch.slice(start, rows.min(batch.num_rows() - start)))
}
