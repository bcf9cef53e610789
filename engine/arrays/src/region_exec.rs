//! The operator that puts the cells of a region together into one tensor.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;

use crate::cell_rows::{chunk_row, in_chunk, primitive, tensor_of};
use crate::copy::{Strided, copy_box, fill, strides};
use crate::definition::ArrayDefinition;
use crate::grid::{ChunkCount, part_in};
use crate::slices::{Axis, cell_count, text};

/// What is to be put together.
#[derive(Debug)]
pub struct Region {
    pub name: String,
    pub array: Arc<ArrayDefinition>,
    pub axes: Vec<Axis>,
    pub count: ChunkCount,
}

#[derive(Debug)]
pub struct RegionExec {
    region: Arc<Region>,
    chunks: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl RegionExec {
    /// `schema` has one column, the tensor, or none.
    pub fn new(region: Region, chunks: Arc<dyn ExecutionPlan>, schema: SchemaRef) -> RegionExec {
        RegionExec::with_input(Arc::new(region), Arc::new(CoalescePartitionsExec::new(chunks)), schema)
    }

    fn with_input(region: Arc<Region>, chunks: Arc<dyn ExecutionPlan>, schema: SchemaRef) -> RegionExec {
        let equivalences = EquivalenceProperties::new(schema);
        let properties = PlanProperties::new(equivalences, Partitioning::UnknownPartitioning(1), EmissionType::Final, Boundedness::Bounded);
        RegionExec { region, chunks, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl ExecutionPlan for RegionExec {
    fn name(&self) -> &str {
        "RegionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.chunks]
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(chunks) = children.pop().filter(|_| children.is_empty()) else { return internal_err!("a region has one input") };
        Ok(Arc::new(RegionExec::with_input(Arc::clone(&self.region), chunks, self.schema())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let read = MetricBuilder::new(&self.metrics).counter("chunks_read", partition);
        let input = self.chunks.execute(partition, Arc::clone(&context))?;
        let (region, schema) = (Arc::clone(&self.region), self.schema());
        let made = async move {
            let tensor = tensor(&region, &schema, input, &context, &read).await?;
            baseline.record_output(1);
            Ok(tensor)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::once(made))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

async fn tensor(
    region: &Region,
    schema: &Schema,
    mut input: SendableRecordBatchStream,
    context: &TaskContext,
    read: &datafusion::physical_plan::metrics::Count,
) -> Result<RecordBatch> {
    let (array, axes) = (&region.array, &region.axes);
    let counts: Vec<u64> = axes.iter().map(|axis| axis.count).collect();
    let Some(cells) = cell_count(axes).and_then(|cells| usize::try_from(cells).ok()) else {
        return internal_err!("a region has too many cells");
    };
    let width = array.width();
    let memory = MemoryConsumer::new("array_region").register(context.memory_pool());
    let mut dense: Option<MutableBuffer> = None;
    let target = Strided { start: 0, strides: strides(counts.iter().copied()) };
    let mut in_place: Option<Buffer> = None;
    let make = || -> Result<MutableBuffer> {
        memory.try_grow(cells * width)?;
        let mut buffer = MutableBuffer::from_len_zeroed(cells * width);
        fill(buffer.as_slice_mut(), &array.fill_bytes()?);
        Ok(buffer)
    };
    while let Some(batch) = input.next().await {
        let batch = batch?;
        read.add(batch.num_rows());
        for row in 0..batch.num_rows() {
            let chunk = chunk_row(array, &batch, row);
            let Some(parts) = part_in(array, axes, &chunk.numbers) else { continue };
            let source = in_chunk(array, &parts);
            let here: Vec<u64> = parts.iter().map(|part| part.count).collect();
            if here == counts && source.is_contiguous(&here) {
                // All of the region lies in this chunk, one cell after the other.
                in_place = Some(chunk.cells.slice_with_length(source.start as usize * width, cells * width));
                continue;
            }
            let start = parts.iter().zip(&target.strides).map(|(part, stride)| part.first as i64 * stride).sum();
            let to = Strided { start, strides: target.strides.clone() };
            let buffer = match &mut dense {
                Some(buffer) => buffer,
                empty => empty.insert(make()?),
            };
            copy_box((&chunk.cells, &source), (buffer.as_slice_mut(), &to), &here, width);
        }
    }
    let buffer = match (in_place, dense) {
        (Some(buffer), _) => buffer,
        (None, Some(buffer)) => buffer.into(),
        (None, None) => make()?.into(),
    };
    let columns: Vec<ArrayRef> = schema
        .fields()
        .iter()
        .map(|field| tensor_of(field.data_type(), primitive(array, buffer.clone(), cells)?))
        .collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    Ok(RecordBatch::try_new_with_options(Arc::new(schema.clone()), columns, &options)?)
}

impl DisplayAs for RegionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Region { name, axes, count, .. } = self.region.as_ref();
        write!(f, "RegionExec: array={name}, region={}, chunks={} of {}", text(axes), count.in_region, count.in_array)
    }
}
