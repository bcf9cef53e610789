//! The operator: the states of groups by all keys, once for each grouping set.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, PhysicalGroupBy, evaluate_group_by};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, future, stream};

#[derive(Debug)]
pub struct GroupingSetsExec {
    input: Arc<dyn ExecutionPlan>,
    /// The keys as columns of the input, and the sets.
    keys: Arc<PhysicalGroupBy>,
    /// DataFusion's aggregate over the sets, of no rows. It makes a row if there is a set without keys.
    of_no_rows: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupingSetsExec {
    /// The states of an aggregate over sets. Those of one set are repeated in other sets, so they have to be merged. `finest` has the states
    /// of the groups by all keys.
    pub fn of(aggregate: &AggregateExec, finest: Arc<dyn ExecutionPlan>) -> Result<GroupingSetsExec> {
        let keys = aggregate.group_expr();
        let columns = keys
            .expr()
            .iter()
            .enumerate()
            .map(|(at, (_, name))| -> (Arc<dyn PhysicalExpr>, String) { (Arc::new(Column::new(name, at)), name.clone()) });
        let keys = PhysicalGroupBy::new(columns.collect(), keys.null_expr().to_vec(), keys.groups().to_vec(), true);
        let no_rows = Arc::new(EmptyExec::new(aggregate.input().schema()));
        let of_no_rows = replace_children_if_necessary(Arc::new(aggregate.clone()), vec![no_rows])?;
        Ok(GroupingSetsExec::over(finest, Arc::new(keys), of_no_rows))
    }

    fn over(input: Arc<dyn ExecutionPlan>, keys: Arc<PhysicalGroupBy>, of_no_rows: Arc<dyn ExecutionPlan>) -> GroupingSetsExec {
        // What holds for keys of the finest set does not hold where they are NULL.
        let properties = PlanProperties::clone(input.properties())
            .with_eq_properties(EquivalenceProperties::new(of_no_rows.schema()))
            .with_partitioning(Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()));
        GroupingSetsExec { input, keys, of_no_rows, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for GroupingSetsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |left_out: &Vec<bool>| {
            let keys = self.keys.expr().iter().zip(left_out).filter(|(_, is_left_out)| !**is_left_out);
            format!("({})", keys.map(|((_, name), _)| name.as_str()).collect::<Vec<_>>().join(", "))
        };
        let sets = self.keys.groups().iter().map(set).collect::<Vec<_>>().join(", ");
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => write!(f, "GroupingSetsExec: sets=[{sets}]"),
            DisplayFormatType::TreeRender => writeln!(f, "sets={sets}"),
        }
    }
}

impl ExecutionPlan for GroupingSetsExec {
    fn name(&self) -> &str {
        "GroupingSetsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        for (key, _) in self.keys.expr() {
            if f(key)? == TreeNodeRecursion::Stop {
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
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("GroupingSetsExec has one input");
        };
        // A copy has metrics of its own.
        let no_rows = self.of_no_rows.children().into_iter().map(Arc::clone).collect();
        let of_no_rows =
            Arc::clone(&self.of_no_rows).replace_children(no_rows, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))?;
        Ok(Arc::new(GroupingSetsExec::over(input, Arc::clone(&self.keys), of_no_rows)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::GreaterEqual
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let elapsed = metrics.elapsed_compute().clone();
        let (keys, schema, of_no_rows) = (Arc::clone(&self.keys), self.schema(), Arc::clone(&self.of_no_rows));
        let batches = async move {
            let mut states = Box::pin(input.try_filter(|batch| future::ready(batch.num_rows() > 0)).peekable());
            if states.as_mut().peek().await.is_none() {
                return of_no_rows.execute(0, context);
            }
            let batch_schema = Arc::clone(&schema);
            let batches = states.and_then(move |batch| {
                let _timer = elapsed.timer();
                future::ready(batches_by_set(&batch, &keys, &batch_schema).map(|batches| stream::iter(batches.into_iter().map(Ok))))
            });
            Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches.try_flatten())) as SendableRecordBatchStream)
        };
        let batches = stream::once(batches).try_flatten().map(move |batch| batch.record_output(&metrics));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A batch for each set; they share their states.
fn batches_by_set(states: &RecordBatch, keys: &PhysicalGroupBy, schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    let batch = |keys_of_set: Vec<_>| {
        let columns = keys_of_set.into_iter().chain(states.columns().iter().skip(keys.expr().len()).cloned());
        Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect())?)
    };
    evaluate_group_by(keys, states)?.into_iter().map(batch).collect()
}
