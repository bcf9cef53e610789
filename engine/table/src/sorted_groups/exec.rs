//! The operator.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, ReplaceChildrenOptions,
};

use parking_lot::Mutex;

use super::shared_groups::{Functions, SharedGroups};
use super::stream::SortedGroupsStream;

/// An operator may run again: a nested loop join executes its build side anew if its rows do not fit into memory.
#[derive(Debug)]
struct Run {
    shared: Arc<SharedGroups>,
    /// By partition.
    has_begun: Vec<bool>,
}

impl Run {
    fn new(partitions: usize) -> Run {
        Run { shared: Arc::new(SharedGroups::new(partitions)), has_begun: vec![false; partitions] }
    }
}

#[derive(Debug)]
pub struct SortedGroupsExec {
    input: Arc<dyn ExecutionPlan>,
    /// Over the input.
    key: Arc<dyn PhysicalExpr>,
    functions: Functions,
    /// Ascending; several partitions may have rows of the groups with these keys.
    shared_keys: ArrayRef,
    run: Mutex<Run>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SortedGroupsExec {
    /// `schema` is that of the aggregate's results.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        key: Arc<dyn PhysicalExpr>,
        functions: Functions,
        shared_keys: ArrayRef,
        schema: SchemaRef,
    ) -> SortedGroupsExec {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::clone(input.properties())
            .with_eq_properties(EquivalenceProperties::new(schema))
            .with_partitioning(Partitioning::UnknownPartitioning(partitions));
        SortedGroupsExec {
            input,
            key,
            functions,
            shared_keys,
            run: Mutex::new(Run::new(partitions)),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for SortedGroupsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = self.functions.0.iter().map(|function| function.name()).collect::<Vec<_>>().join(", ");
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "SortedGroupsExec: gby=[{}], aggr=[{functions}]", self.key)
            }
            DisplayFormatType::TreeRender => writeln!(f, "gby={}", self.key),
        }
    }
}

impl ExecutionPlan for SortedGroupsExec {
    fn name(&self) -> &str {
        "SortedGroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        let arguments = self.functions.0.iter().flat_map(|function| function.expressions());
        for expr in std::iter::once(Arc::clone(&self.key)).chain(arguments) {
            if f(&expr)? == TreeNodeRecursion::Stop {
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
        let partitions = self.input.output_partitioning().partition_count();
        match (children.pop(), children.is_empty()) {
            (Some(input), true) if input.output_partitioning().partition_count() == partitions => Ok(Arc::new(SortedGroupsExec::new(
                input,
                Arc::clone(&self.key),
                self.functions.clone(),
                Arc::clone(&self.shared_keys),
                self.schema(),
            ))),
            _ => internal_err!("SortedGroupsExec has one input, with as many partitions as before"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size();
        let shared = {
            let mut run = self.run.lock();
            match run.has_begun.get(partition) {
                Some(false) => {}
                Some(true) => *run = Run::new(run.has_begun.len()),
                None => return internal_err!("SortedGroupsExec has no partition {partition}"),
            }
            run.has_begun[partition] = true;
            Arc::clone(&run.shared)
        };
        Ok(Box::pin(SortedGroupsStream::new(
            self.input.execute(partition, context)?,
            Arc::clone(&self.key),
            self.functions.clone(),
            Arc::clone(&self.shared_keys),
            shared,
            self.schema(),
            batch_rows,
            BaselineMetrics::new(&self.metrics, partition),
        )?))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Float64Array, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::functions_aggregate::average::avg_udaf;
    use datafusion::functions_aggregate::sum::sum_udaf;
    use datafusion::physical_expr::aggregate::AggregateExprBuilder;
    use datafusion::physical_expr::expressions::Column;
    use futures::TryStreamExt;

    use super::*;

    fn batch(schema: &SchemaRef, keys: Vec<i64>, values: Vec<f64>) -> RecordBatch {
        RecordBatch::try_new(Arc::clone(schema), vec![Arc::new(Int64Array::from(keys)), Arc::new(Float64Array::from(values))]).unwrap()
    }

    /// Units in turn for two partitions. The key 2 is at the end of the first one, all of the second, and at the beginning of the third; of the key 5 no
    /// row is left in the fourth.
    fn exec() -> SortedGroupsExec {
        let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true), Field::new("v", DataType::Float64, true)]));
        let batch = |keys, values| batch(&schema, keys, values);
        let (first, second) = (batch(vec![1, 1, 2], vec![1.0, 2.0, 10.0]), batch(vec![2, 2], vec![20.0, 40.0]));
        let (third, fourth) = (batch(vec![2, 3, 5], vec![30.0, 5.0, 7.0]), batch(vec![6, 7], vec![1.0, 1.0]));
        let units = [vec![first, batch(vec![], vec![]), third], vec![second, fourth]];
        let input = MemorySourceConfig::try_new_exec(&units, Arc::clone(&schema), None).unwrap();
        let function = |function, name| {
            let function = AggregateExprBuilder::new(function, vec![Arc::new(Column::new("v", 1))]).schema(Arc::clone(&schema)).alias(name);
            Arc::new(function.build().unwrap())
        };
        let functions = Functions([function(sum_udaf(), "s"), function(avg_udaf(), "a")].into());
        let results = [("k", DataType::Int64), ("s", DataType::Float64), ("a", DataType::Float64)];
        let results = Schema::new(results.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec());
        SortedGroupsExec::new(input, Arc::new(Column::new("k", 0)), functions, Arc::new(Int64Array::from(vec![2, 5])), Arc::new(results))
    }

    async fn rows_of(exec: &SortedGroupsExec, partition: usize) -> Vec<(i64, f64, f64)> {
        let batches: Vec<RecordBatch> = exec.execute(partition, Arc::default()).unwrap().try_collect().await.unwrap();
        let rows = |batch: &RecordBatch| {
            let keys = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
            let [sums, averages] = [1, 2].map(|column| batch.column(column).as_primitive::<Float64Type>().values().to_vec());
            keys.into_iter().zip(sums).zip(averages).map(|((key, sum), average)| (key, sum, average))
        };
        batches.iter().flat_map(rows).collect()
    }

    const ROWS: [(i64, f64, f64); 6] = [(1, 3.0, 1.5), (2, 100.0, 25.0), (3, 5.0, 5.0), (5, 7.0, 7.0), (6, 1.0, 1.0), (7, 1.0, 1.0)];

    #[tokio::test]
    async fn each_group_comes_once_in_whichever_order_partitions_are_polled() {
        for order in [[0, 1], [1, 0]] {
            let exec = exec();
            let mut rows = rows_of(&exec, order[0]).await;
            rows.extend(rows_of(&exec, order[1]).await);
            rows.sort_by_key(|row| row.0);
            assert_eq!(rows, ROWS);
        }
    }

    /// A nested loop join runs its build side again if its rows do not fit into memory: groups were added up twice.
    #[tokio::test]
    async fn a_second_run_has_all_groups_anew() {
        let exec = exec();
        drop((exec.execute(0, Arc::default()).unwrap(), exec.execute(1, Arc::default()).unwrap()));
        for _ in 0..3 {
            let mut rows = rows_of(&exec, 0).await;
            rows.extend(rows_of(&exec, 1).await);
            rows.sort_by_key(|row| row.0);
            assert_eq!(rows, ROWS);
        }
    }
}
