//! The operators: one holds the subplans, and one reads the rows of a subplan.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput, SpillMetrics};
use datafusion::physical_plan::statistics::StatisticsContext;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::TryStreamExt;
use futures::stream::try_unfold;

use super::rows::{Reader, SubplanRows};

/// Tells each subplan of a finished plan which operators make its rows, and how many read them. Operators that are replaced later than this
/// do not run.
pub fn connect_subplans(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    plan.apply(|node| {
        if let Some(node) = node.downcast_ref::<CommonSubplansExec>() {
            for (rows, input) in &node.subplans {
                rows.set_input(input);
                rows.set_subplans(node.subplans.len());
            }
        }
        if let Some(scan) = node.downcast_ref::<SubplanScanExec>() {
            scan.rows.add_reader(&scan.reader, scan.partitions());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// New rows of subplans, for a copy of a plan that has to run by itself.
#[derive(Debug, Default)]
pub struct NewSubplanRows(HashMap<usize, Arc<SubplanRows>>);

impl NewSubplanRows {
    fn of(&mut self, rows: &SubplanRows) -> Arc<SubplanRows> {
        Arc::clone(self.0.entry(rows.number()).or_insert_with(|| Arc::new(SubplanRows::new(rows.number()))))
    }

    /// The operator with its new rows, if it has rows of subplans.
    pub fn put_into(&mut self, node: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        if let Some(node) = node.downcast_ref::<CommonSubplansExec>() {
            let subplans = node.subplans.iter().map(|(rows, input)| {
                let rows = self.of(rows);
                rows.set_input(input);
                (rows, Arc::clone(input))
            });
            return Arc::new(CommonSubplansExec { plan: Arc::clone(&node.plan), subplans: subplans.collect() });
        }
        match node.downcast_ref::<SubplanScanExec>() {
            Some(scan) => Arc::new(SubplanScanExec {
                rows: self.of(&scan.rows),
                reader: Arc::default(),
                properties: Arc::clone(&scan.properties),
                metrics: ExecutionPlanMetricsSet::new(),
            }),
            None => node,
        }
    }
}

/// Passes on the rows of a plan that reads subplans. They are inputs, so that rules see them.
#[derive(Debug)]
pub struct CommonSubplansExec {
    plan: Arc<dyn ExecutionPlan>,
    subplans: Vec<(Arc<SubplanRows>, Arc<dyn ExecutionPlan>)>,
}

impl CommonSubplansExec {
    pub fn new(plan: Arc<dyn ExecutionPlan>, subplans: Vec<(Arc<SubplanRows>, Arc<dyn ExecutionPlan>)>) -> CommonSubplansExec {
        CommonSubplansExec { plan, subplans }
    }
}

impl DisplayAs for CommonSubplansExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.subplans.iter().map(|(rows, _)| rows.number().to_string()).collect();
        write!(f, "CommonSubplansExec: subplans=[{}]", numbers.join(", "))
    }
}

impl ExecutionPlan for CommonSubplansExec {
    fn name(&self) -> &str {
        "CommonSubplansExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        std::iter::once(true).chain(self.subplans.iter().map(|_| false)).collect()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.subplans.len() + 1]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        std::iter::once(&self.plan).chain(self.subplans.iter().map(|(_, input)| input)).collect()
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != self.subplans.len() + 1 {
            return internal_err!("CommonSubplansExec has {} inputs", self.subplans.len() + 1);
        }
        let plan = children.remove(0);
        let rows = self.subplans.iter().map(|(rows, _)| Arc::clone(rows));
        Ok(Arc::new(CommonSubplansExec { plan, subplans: rows.zip(children).collect() }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.plan.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        std::iter::once(ChildStats::At(partition)).chain(self.subplans.iter().map(|_| ChildStats::Skip)).collect()
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs.first() {
            Some(of_plan) => Ok(Arc::clone(of_plan)),
            None => internal_err!("CommonSubplansExec has inputs"),
        }
    }
}

/// Reads the rows of a subplan. Its partitions share them, batch by batch; each can be read alone.
#[derive(Debug)]
pub struct SubplanScanExec {
    rows: Arc<SubplanRows>,
    reader: Arc<Reader>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SubplanScanExec {
    pub fn new(rows: Arc<SubplanRows>, schema: SchemaRef, partitions: usize) -> SubplanScanExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        SubplanScanExec { rows, reader: Arc::default(), properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }
}

impl DisplayAs for SubplanScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubplanScanExec: subplan={}", self.rows.number())
    }
}

impl ExecutionPlan for SubplanScanExec {
    fn name(&self) -> &str {
        "SubplanScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>, _: ReplaceChildrenOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let spilled = SpillMetrics::new(&self.metrics, partition);
        let stream = Arc::clone(&self.rows).read(Arc::clone(&self.reader), context, spilled)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (schema, as_named) = (self.schema(), self.schema());
        let batches = try_unfold(stream, |mut stream| async move { Ok(stream.next().await?.map(|batch| (batch, stream))) });
        let batches = batches.and_then(move |batch: RecordBatch| {
            let batch = batch.record_output(&metrics);
            // Operators may say of a column that it has no NULLs where the plan does not.
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&as_named), batch.columns().to_vec(), &options);
            std::future::ready(batch.map_err(Into::into))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match (args.partition(), self.rows.input()) {
            (None, Some(input)) => StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new()),
            _ => Ok(Arc::new(Statistics::new_unknown(&self.schema()))),
        }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
