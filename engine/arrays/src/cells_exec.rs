//! The operator that makes rows of chunks, one chunk after the other. Its last partition has the cells of chunks that were never written.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, ReplaceChildrenOptions,
};
use futures::stream::{BoxStream, iter};
use futures::{StreamExt, TryStreamExt};

use crate::cell_rows::{CellRows, chunk_row, numbers_of};
use crate::grid::{ChunkCount, ChunkNumbers};
use crate::slices::{Axis, cell_count, text};

type Batches = BoxStream<'static, Result<RecordBatch>>;

#[derive(Debug)]
pub struct CellsExec {
    name: String,
    rows: CellRows,
    fill: Buffer,
    count: ChunkCount,
    /// The chunks with the numbers and, if they are wanted, the cells; without the cells a chunk is only counted.
    written: Arc<dyn ExecutionPlan>,
    /// The numbers of all chunks that were written; `None` if no other cell is wanted.
    present: Option<Arc<dyn ExecutionPlan>>,
    /// No chunk was left out because of its values.
    is_exact: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl CellsExec {
    /// `written` are the chunks with the numbers and, if they are wanted, the cells; `present` the numbers of all chunks.
    pub fn new(
        name: String,
        rows: CellRows,
        fill: Buffer,
        count: ChunkCount,
        (written, present): (Arc<dyn ExecutionPlan>, Option<Arc<dyn ExecutionPlan>>),
        is_exact: bool,
    ) -> CellsExec {
        let present = present.map(|present| Arc::new(CoalescePartitionsExec::new(present)) as _);
        CellsExec::with_inputs(name, rows, fill, count, written, present, is_exact)
    }

    fn with_inputs(
        name: String,
        rows: CellRows,
        fill: Buffer,
        count: ChunkCount,
        written: Arc<dyn ExecutionPlan>,
        present: Option<Arc<dyn ExecutionPlan>>,
        is_exact: bool,
    ) -> CellsExec {
        let partitions = written.output_partitioning().partition_count() + usize::from(present.is_some());
        let equivalences = EquivalenceProperties::new(Arc::clone(&rows.schema));
        let partitioning = Partitioning::UnknownPartitioning(partitions);
        let properties = PlanProperties::new(equivalences, partitioning, EmissionType::Incremental, Boundedness::Bounded);
        let metrics = ExecutionPlanMetricsSet::new();
        CellsExec { name, rows, fill, count, written, present, is_exact, properties: Arc::new(properties), metrics }
    }

    /// The cells of the chunks that one partition of the input has.
    fn cells(&self, partition: usize, context: &Arc<TaskContext>, chunks: Count) -> Result<Batches> {
        let (rows, fill) = (self.rows.clone(), self.fill.clone());
        let input = self.written.execute(partition, Arc::clone(context))?;
        let has_cells = self.written.schema().fields().len() > rows.array.dimensions.len();
        let batches = input.map_ok(move |batch| {
            chunks.add(batch.num_rows());
            let (rows, fill) = (rows.clone(), fill.clone());
            let of_rows = (0..batch.num_rows()).flat_map(move |row| match has_cells {
                true => rows.of_chunk(&chunk_row(&rows.array, &batch, row)),
                false => rows.of_hole(&numbers_of(&batch, rows.array.dimensions.len(), row), &fill),
            });
            iter(of_rows)
        });
        Ok(batches.try_flatten().boxed())
    }

    /// The cells of the chunks that are not in the store.
    fn holes(&self, present: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>, holes: Count) -> Result<Batches> {
        let (rows, fill) = (self.rows.clone(), self.fill.clone());
        let mut input = present.execute(0, Arc::clone(context))?;
        let numbers = async move {
            let mut written = HashSet::new();
            while let Some(batch) = input.next().await {
                let batch = batch?;
                written.extend((0..batch.num_rows()).map(|row| numbers_of(&batch, rows.array.dimensions.len(), row)));
            }
            let missing = ChunkNumbers::new(&rows.array, &rows.axes).filter(move |numbers| !written.contains(numbers));
            Ok::<_, DataFusionError>(iter(missing.flat_map(move |numbers| {
                holes.add(1);
                rows.of_hole(&numbers, &fill)
            })))
        };
        Ok(futures::stream::once(numbers).try_flatten().boxed())
    }
}

impl ExecutionPlan for CellsExec {
    fn name(&self) -> &str {
        "CellsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        [Some(&self.written), self.present.as_ref()].into_iter().flatten().collect()
    }

    /// What was written is one set for all partitions.
    fn required_input_distribution(&self) -> Vec<Distribution> {
        let present = self.present.is_some().then_some(Distribution::SinglePartition);
        std::iter::once(Distribution::UnspecifiedDistribution).chain(present).collect()
    }

    /// The input is divided as it was read.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.children().len()]
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != self.children().len() {
            return internal_err!("the cells of an array have {} inputs and were given {}", self.children().len(), children.len());
        }
        let mut children = children.into_iter();
        let Some(written) = children.next() else { return internal_err!("the cells of an array have no input") };
        let (name, rows, fill) = (self.name.clone(), self.rows.clone(), self.fill.clone());
        Ok(Arc::new(CellsExec::with_inputs(name, rows, fill, self.count, written, children.next(), self.is_exact)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let counter = |name: &'static str| MetricBuilder::new(&self.metrics).counter(name, partition);
        let batches = match &self.present {
            Some(present) if partition == self.written.output_partitioning().partition_count() => {
                self.holes(present, &context, counter("chunks_never_written"))?
            }
            _ => self.cells(partition, &context, counter("chunks_read"))?,
        };
        let counted = batches.inspect_ok(move |batch| baseline.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), counted)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if partition.is_none() {
            statistics.num_rows = row_count(&self.rows.axes, self.is_exact);
        }
        Ok(Arc::new(statistics))
    }
}

/// The number of rows of a region; if they are not all, it is an estimate.
pub fn row_count(axes: &[Axis], is_exact: bool) -> Precision<usize> {
    match cell_count(axes).and_then(|cells| usize::try_from(cells).ok()) {
        Some(cells) if is_exact => Precision::Exact(cells),
        Some(cells) => Precision::Inexact(cells),
        None => Precision::Absent,
    }
}

impl DisplayAs for CellsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChunkCount { in_region, in_array } = self.count;
        write!(f, "CellsExec: array={}, region={}, chunks={in_region} of {in_array}", self.name, text(&self.rows.axes))
    }
}
