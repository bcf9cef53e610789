//! The operator: the states of the groups of each set, from those of the groups by all keys.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy, evaluate_group_by};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, future, stream};

use super::stream::SetsStream;

#[derive(Debug)]
pub struct GroupingSetsExec {
    input: Arc<dyn ExecutionPlan>,
    /// The keys as columns of the input, and the sets.
    keys: Arc<PhysicalGroupBy>,
    /// DataFusion's aggregate over the sets, of no rows. It makes a row if there is a set without keys.
    of_no_rows: AggregateExec,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupingSetsExec {
    /// The states of an aggregate over sets. `finest` has those of the groups by all keys.
    pub fn of(aggregate: &AggregateExec, finest: Arc<dyn ExecutionPlan>) -> Result<GroupingSetsExec> {
        let keys = aggregate.group_expr();
        let columns = keys
            .expr()
            .iter()
            .enumerate()
            .map(|(at, (_, name))| -> (Arc<dyn PhysicalExpr>, String) { (Arc::new(Column::new(name, at)), name.clone()) });
        let columns = PhysicalGroupBy::new(columns.collect(), keys.null_expr().to_vec(), keys.groups().to_vec(), true);
        let (functions, filters) = (aggregate.aggr_expr().to_vec(), aggregate.filter_expr().to_vec());
        let no_rows = Arc::new(EmptyExec::new(aggregate.input().schema()));
        let of_no_rows =
            AggregateExec::try_new(AggregateMode::Partial, keys.clone(), functions, filters, no_rows, aggregate.input_schema())?;
        Ok(GroupingSetsExec::over(finest, Arc::new(columns), of_no_rows))
    }

    fn over(input: Arc<dyn ExecutionPlan>, keys: Arc<PhysicalGroupBy>, of_no_rows: AggregateExec) -> GroupingSetsExec {
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
        Ok(Arc::new(GroupingSetsExec::over(input, Arc::clone(&self.keys), self.of_no_rows.clone())))
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
        let (keys, of_no_rows, partitions) =
            (Arc::clone(&self.keys), self.of_no_rows.clone(), self.properties.partitioning.partition_count());
        let elapsed = metrics.elapsed_compute().clone();
        let batches = async move {
            let mut states = Box::pin(input.try_filter(|batch| future::ready(batch.num_rows() > 0)).peekable());
            let ids = match states.as_mut().peek().await {
                Some(Ok(first)) => set_ids(first, &keys)?,
                // The error is yielded before anything needs a number.
                Some(Err(_)) => vec![ScalarValue::Null; keys.groups().len()],
                None => return of_no_rows.execute(0, context),
            };
            let sets = SetsStream::new(states, &keys, ids, &of_no_rows, partitions, &context, elapsed)?;
            Ok(Box::pin(sets) as SendableRecordBatchStream)
        };
        let batches = stream::once(batches).try_flatten().map(move |batch| batch.record_output(&metrics));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The numbers by which results tell the sets apart, as DataFusion's aggregate makes them.
fn set_ids(states: &RecordBatch, keys: &PhysicalGroupBy) -> Result<Vec<ScalarValue>> {
    let of_sets = evaluate_group_by(keys, &states.slice(0, 1))?.into_iter();
    of_sets.map(|columns| columns.last().map_or(Ok(ScalarValue::Null), |id| ScalarValue::try_from_array(id, 0))).collect()
}
