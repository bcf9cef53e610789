//! Arrays of several resolutions, as adaptive mesh refinement makes them: a region at the finest resolution, in which each cell comes from
//! the finest level that has its chunk.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int8Array, RecordBatch, RecordBatchOptions};
use arrow::buffer::MutableBuffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;

use crate::cell_rows::{chunk_row, primitive, tensor_of};
use crate::copy::{fill, strides};
use crate::definition::{CELLS, refused};
use crate::functions::{REGION, region_shape};
use crate::slices::{Axis, Slice, cell_count, region, text};
use crate::table::ArrayTable;
use common::error::EngineError;
use common::tensors::tensor_field;

/// The column with the number of the level of each cell.
const LEVEL: &str = "level";

#[derive(Debug, Clone)]
pub struct Level {
    pub number: i8,
    pub array: ArrayTable,
    /// Cells of the finest level along each side of one of its cells.
    pub ratio: u64,
}

/// A region of all levels together, as one row.
#[derive(Debug)]
pub struct LevelsTable {
    name: String,
    /// The coarsest first.
    levels: Arc<[Level]>,
    axes: Vec<Axis>,
    schema: SchemaRef,
}

impl LevelsTable {
    /// `arrays` are the levels with their numbers, and `refinement` the cells of a level along the side of a cell of the level before it.
    pub fn new(name: &str, mut arrays: Vec<(i8, ArrayTable)>, refinement: u64, slices: &[Slice]) -> Result<LevelsTable, EngineError> {
        arrays.sort_by_key(|(number, _)| *number);
        let Some((finest, array)) = arrays.last().cloned() else {
            let hint = "give each array of the group a tag: TAG ARRAY a SET (level = 0), with 0 for the coarsest";
            return Err(refused(format!("no array of the group {name} has a tag \"level\""), hint));
        };
        if let Some(pair) = arrays.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(refused(format!("two arrays of the group {name} are level {}", pair[0].0), "each level is one array"));
        }
        let mut lengths = vec![0; array.lengths.len()];
        let mut levels = Vec::with_capacity(arrays.len());
        for (number, level) in arrays {
            if level.definition.element != array.definition.element || level.lengths.len() != lengths.len() {
                let message = format!("the levels {} and {} differ in their type or dimensions", level.name, array.name);
                return Err(refused(message, "all levels have cells of one type along the same dimensions"));
            }
            let ratio = refinement.checked_pow(u32::from(finest.abs_diff(number))).filter(|ratio| *ratio > 0);
            let Some(ratio) = ratio else {
                return Err(refused(
                    format!("level {number} of the group {name} is too far from level {finest}"),
                    "number the levels from 0",
                ));
            };
            lengths
                .iter_mut()
                .zip(&level.lengths)
                .for_each(|(length, cells): (&mut u64, &u64)| *length = (*length).max(cells.saturating_mul(ratio)));
            levels.push(Level { number, array: level, ratio });
        }
        let axes = region(slices, &array.definition, &lengths, false)?;
        let shape = region_shape(&array.name, &axes)?;
        let fields = vec![
            tensor_field(REGION, array.definition.element.clone(), &shape, false)?,
            tensor_field(LEVEL, DataType::Int8, &shape, false)?,
        ];
        Ok(LevelsTable { name: name.to_string(), levels: levels.into(), axes, schema: Arc::new(Schema::new(fields)) })
    }
}

#[async_trait]
impl TableProvider for LevelsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut inputs = Vec::with_capacity(self.levels.len());
        for level in self.levels.iter() {
            let coarse: Vec<Axis> = self.axes.iter().map(|axis| coarse_axis(axis, level.ratio)).collect();
            inputs.push(level.array.scan_chunks(state, &coarse, &[CELLS], &[]).await?);
        }
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => self.schema(),
        };
        let levels = Levels { name: self.name.clone(), levels: Arc::clone(&self.levels), axes: self.axes.clone() };
        Ok(Arc::new(LevelsExec::new(Arc::new(levels), inputs, schema)))
    }
}

/// The cells of a level that the axis needs some of, without steps.
fn coarse_axis(axis: &Axis, ratio: u64) -> Axis {
    match axis.bounds() {
        Some((least, greatest)) => {
            let (first, last) = (least / ratio, greatest / ratio);
            Axis { start: first as i64, step: 1, count: last - first + 1, is_index: false }
        }
        None => *axis,
    }
}

#[derive(Debug)]
struct Levels {
    name: String,
    levels: Arc<[Level]>,
    axes: Vec<Axis>,
}

#[derive(Debug)]
struct LevelsExec {
    levels: Arc<Levels>,
    /// The chunks of each level.
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

impl LevelsExec {
    fn new(levels: Arc<Levels>, inputs: Vec<Arc<dyn ExecutionPlan>>, schema: SchemaRef) -> LevelsExec {
        let equivalences = EquivalenceProperties::new(schema);
        let properties = PlanProperties::new(equivalences, Partitioning::UnknownPartitioning(1), EmissionType::Final, Boundedness::Bounded);
        LevelsExec { levels, inputs, properties: Arc::new(properties) }
    }
}

impl ExecutionPlan for LevelsExec {
    fn name(&self) -> &str {
        "LevelsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition; self.inputs.len()]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.len() == self.inputs.len() {
            true => Ok(Arc::new(LevelsExec::new(Arc::clone(&self.levels), children, self.schema()))),
            false => internal_err!("there are {} levels and {} inputs", self.inputs.len(), children.len()),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let inputs = self.inputs.iter().map(|input| input.execute(0, Arc::clone(&context))).collect::<Result<Vec<_>>>()?;
        let (levels, schema) = (Arc::clone(&self.levels), self.schema());
        let made = async move { tensors(&levels, &schema, inputs, &context).await };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::once(made))))
    }
}

impl DisplayAs for LevelsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LevelsExec: group={}, region={}, levels={}", self.levels.name, text(&self.levels.axes), self.inputs.len())
    }
}

/// Each level overwrites what the coarser ones have given.
async fn tensors(
    levels: &Levels,
    schema: &SchemaRef,
    inputs: Vec<SendableRecordBatchStream>,
    context: &TaskContext,
) -> Result<RecordBatch> {
    let Some(coarsest) = levels.levels.first() else { return internal_err!("there are no levels") };
    let Some(cells) = cell_count(&levels.axes).and_then(|cells| usize::try_from(cells).ok()) else {
        return internal_err!("a region has too many cells");
    };
    let array = Arc::clone(&coarsest.array.definition);
    let memory = MemoryConsumer::new("finest_region").register(context.memory_pool());
    memory.try_grow(cells * (array.width() + 1))?;
    let mut values = MutableBuffer::from_len_zeroed(cells * array.width());
    fill(values.as_slice_mut(), &array.fill_bytes()?);
    let mut numbers = vec![coarsest.number as u8; cells];
    for (level, mut input) in levels.levels.iter().zip(inputs) {
        while let Some(batch) = input.next().await {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let chunk = chunk_row(&level.array.definition, &batch, row);
                let Some(steps) = steps_in(level, &levels.axes, &chunk.numbers) else { continue };
                let from = strides(level.array.definition.dimensions.iter().map(|dimension| dimension.chunk));
                let to = strides(levels.axes.iter().map(|axis| axis.count));
                for_each_cell(&steps, &from, &to, &mut |source, target| {
                    let (source, target) = (source * array.width(), target * array.width());
                    values.as_slice_mut()[target..target + array.width()].copy_from_slice(&chunk.cells[source..source + array.width()]);
                });
                for_each_cell(&steps, &from, &to, &mut |_, target| numbers[target] = level.number as u8);
            }
        }
    }
    let columns = schema.fields().iter().map(|field| -> Result<ArrayRef> {
        let cells: ArrayRef = match field.name().as_str() {
            LEVEL => Arc::new(Int8Array::from_iter_values(numbers.iter().map(|number| *number as i8))),
            _ => primitive(&array, std::mem::take(&mut values).into(), cells)?,
        };
        tensor_of(field.data_type(), cells)
    });
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_>>()?, &options)?)
}

/// Along one dimension: the positions in the region, and where the cell of each is in its chunk.
struct Steps {
    positions: Range<u64>,
    axis: Axis,
    ratio: u64,
    chunk_start: u64,
}

impl Steps {
    fn source(&self, position: u64) -> usize {
        let finest = (self.axis.start + self.axis.step * position as i64) as u64;
        (finest / self.ratio - self.chunk_start) as usize
    }
}

/// `None` if the region has no cell of the chunk.
fn steps_in(level: &Level, axes: &[Axis], chunk: &[u64]) -> Option<Vec<Steps>> {
    let dimensions = level.array.definition.dimensions.iter().zip(&level.array.lengths);
    let steps = axes.iter().zip(dimensions).zip(chunk).map(|((axis, (dimension, length)), number)| {
        let start = number.checked_mul(dimension.chunk)?;
        // The cells of the finest level that lie in the chunk, and in the level: the rest of the chunk was never written.
        let first = i64::try_from(start.checked_mul(level.ratio)?).ok()?;
        let last = first.checked_add(i64::try_from(dimension.chunk.checked_mul(level.ratio)?).ok()?)? - 1;
        let last = last.min(i64::try_from(length.checked_mul(level.ratio)?).ok()? - 1);
        let inside = axis.narrowed(first, last);
        let begin = (inside.start - axis.start) / axis.step;
        let positions = begin as u64..begin as u64 + inside.count;
        (!positions.is_empty()).then_some(Steps { positions, axis: *axis, ratio: level.ratio, chunk_start: start })
    });
    steps.collect()
}

/// Calls `visit` with the place of each cell in the chunk and in the region.
fn for_each_cell(steps: &[Steps], from: &[i64], to: &[i64], visit: &mut impl FnMut(usize, usize)) {
    fn along(steps: &[Steps], from: &[i64], to: &[i64], source: usize, target: usize, visit: &mut impl FnMut(usize, usize)) {
        let Some((first, rest)) = steps.split_first() else { return visit(source, target) };
        for position in first.positions.clone() {
            let source = source + first.source(position) * from[0] as usize;
            along(rest, &from[1..], &to[1..], source, target + position as usize * to[0] as usize, visit);
        }
    }
    along(steps, from, to, 0, 0, visit);
}
