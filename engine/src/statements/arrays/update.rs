//! UPDATE ARRAY … SET REGION: the chunks of the region are replaced by chunks with the new cells.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrays::cell_rows::{chunk_row, numbers_of};
use arrays::chunk_rows::{ChunkWriter, NewCells};
use arrays::definition::{ArrayDefinition, CELLS, refused};
use arrays::grid::{ChunkNumbers, covers_whole_chunks};
use arrays::slices::{Axis, cell_count, parse, region, text};
use arrays::table::ArrayTable;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::Buffer;
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, UInt64Type};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast};
use datafusion::physical_plan::execute_stream;
use futures::{StreamExt, TryStreamExt};
use pmem_store::RoaringBitmap;
use semantics::functions::with_one_nan;

use crate::execution::StatementContext;
use crate::statements::objects::planned_query;
use common::error::EngineError;
use common::messages::display_name;
use common::privilege::Privilege;
use common::type_names::declared_name;
use table::blocking::blocking;
use table::catalog::StoreTable;
use table::scan::row_id::{ROW_ID, decode};
use table::write::{RowWriter, WriteMode, WriteTarget, replace_rows};

const UPDATE: &str = "UPDATE ARRAY";

/// Returns the number of cells.
pub async fn update(ctx: &StatementContext, name: &TableReference, slices: &str, query: &str) -> Result<u64, EngineError> {
    let (array, chunks) = opened(ctx, name).await?;
    let axes = region(&parse(slices)?, &array.definition, &array.lengths, true)?;
    let Some(count) = cell_count(&axes) else {
        return Err(refused(format!("the region {} has more cells than can be counted", text(&axes)), "write it in parts"));
    };
    // Counts the new cells until they are written.
    let memory = MemoryConsumer::new(UPDATE).register(&ctx.runtime().memory_pool);
    let Some(cells) = new_cells(ctx, query, &array.definition, &axes, count, &memory).await? else { return Ok(0) };
    let lengths = array.lengths.iter().zip(&axes).map(|(length, axis)| match axis.bounds() {
        Some((_, greatest)) => (*length).max(greatest + 1),
        None => *length,
    });
    let lengths: Vec<u64> = lengths.collect();
    let written = written_chunks(ctx, &array, &chunks, &axes, &lengths).await?;
    let change = Change { array, axes, cells, lengths, written, table: chunks };
    blocking(move || change.apply()).await?;
    Ok(count)
}

async fn opened(ctx: &StatementContext, name: &TableReference) -> Result<(ArrayTable, Arc<StoreTable>), EngineError> {
    let provider = match ctx.state.schema_for_ref(name.clone()) {
        Ok(schema) => schema.table(name.table()).await.map_err(|error| ctx.located(error))?,
        Err(_) => None,
    };
    let Some(provider) = provider else {
        let missing = name.clone().resolve(common::names::CATALOG, pmem_store::DEFAULT_NAMESPACE);
        return Err(ctx.located(EngineError::NoTable(missing).into_datafusion()));
    };
    let array = provider.downcast_ref::<ArrayTable>();
    let chunks = array.and_then(|array| array.chunks.downcast_ref::<StoreTable>());
    let (Some(array), Some(chunks)) = (array, chunks) else {
        return Err(refused(format!("\"{}\" is no array", display_name(name)), "UPDATE changes the rows of a table"));
    };
    // A chunk that is changed in part is read.
    [Privilege::Update, Privilege::Select].into_iter().try_for_each(|privilege| chunks.check(privilege))?;
    Ok((array.clone(), Arc::new(chunks.with_row_ids())))
}

/// The cells that the query gives: one for all of the region, or one for each; `None` for a region without cells.
async fn new_cells(
    ctx: &StatementContext,
    query: &str,
    array: &ArrayDefinition,
    axes: &[Axis],
    count: u64,
    memory: &MemoryReservation,
) -> Result<Option<NewCells>, EngineError> {
    let plan = planned_query(ctx, query).await?;
    let hint = "give one number, a list or tensor of them, or a query with one column";
    let field = match plan.schema().fields().as_ref() {
        [field] => Arc::clone(field),
        fields => return Err(refused(format!("the new cells are in {} columns", fields.len()), hint)),
    };
    let Some(wanted) = with_element(field.data_type(), &array.element) else {
        return Err(refused(format!("the new cells are {}", declared_name(field.data_type())), hint));
    };
    let (qualifier, field) = plan.schema().qualified_field(0);
    let column = Expr::from((qualifier, field));
    let plan = LogicalPlanBuilder::from(plan).project(vec![cast(column, wanted)])?.build()?;
    let mut batches = ctx.execute_plan(&plan).await?;
    let mut columns: Vec<ArrayRef> = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        let cells = flat(batch.column(0))?;
        // Twice, because they are put together afterwards.
        memory.try_grow(2 * cells.len() * array.width())?;
        columns.push(cells);
    }
    if count == 0 {
        return Ok(None);
    }
    let columns: Vec<&dyn Array> = columns.iter().map(|column| column.as_ref()).collect();
    let found: usize = columns.iter().map(|column| column.len()).sum();
    if found != 1 && found as u64 != count {
        let message = format!("the region {} has {count} cells, and {found} are given", text(axes));
        return Err(refused(message, "give one for all of them, or one for each, the last dimension fastest"));
    }
    // Files and programs may have other NaNs, which do not compare as SQL requires.
    let cells = with_one_nan(&concat(&columns).map_err(|error| EngineError::internal(error.to_string()))?);
    let data = cells.to_data();
    let bytes = data.buffers()[0].slice_with_length(data.offset() * array.width(), data.len() * array.width());
    Ok(Some(if found == 1 { NewCells::Same(bytes) } else { NewCells::Each(bytes) }))
}

/// The same lists of another type of numbers; `None` if it is no number and no list of numbers.
fn with_element(data_type: &DataType, element: &DataType) -> Option<DataType> {
    let inner = |field: &Arc<Field>| Some(Arc::new(field.as_ref().clone().with_data_type(with_element(field.data_type(), element)?)));
    match data_type {
        DataType::List(field) => inner(field).map(DataType::List),
        DataType::LargeList(field) => inner(field).map(DataType::LargeList),
        DataType::FixedSizeList(field, size) => Some(DataType::FixedSizeList(inner(field)?, *size)),
        number if number.is_numeric() => Some(element.clone()),
        _ => None,
    }
}

/// The numbers in lists, one after the other.
fn flat(column: &ArrayRef) -> Result<ArrayRef, EngineError> {
    if column.null_count() > 0 {
        return Err(refused("a new cell is NULL".into(), "cells have values; NaN is one of REAL and DOUBLE"));
    }
    match column.data_type() {
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let (first, last) = (list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize);
            flat(&list.values().slice(first, last - first))
        }
        DataType::LargeList(_) => {
            let list = column.as_list::<i64>();
            let (first, last) = (list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize);
            flat(&list.values().slice(first, last - first))
        }
        DataType::FixedSizeList(..) => flat(column.as_fixed_size_list().values()),
        _ => Ok(Arc::clone(column)),
    }
}

/// A chunk that is in the store: the id of its row, and its cells if some of them stay.
struct WrittenChunk {
    row_id: u64,
    cells: Option<Buffer>,
}

async fn written_chunks(
    ctx: &StatementContext,
    array: &ArrayTable,
    chunks: &Arc<StoreTable>,
    axes: &[Axis],
    lengths: &[u64],
) -> Result<HashMap<Vec<u64>, WrittenChunk>, EngineError> {
    let with_ids = array.with_chunks(Arc::clone(chunks) as Arc<dyn TableProvider>);
    let keeps_cells = !covers_whole_chunks(&array.definition, axes, lengths);
    let columns = if keeps_cells { &[CELLS, ROW_ID][..] } else { &[ROW_ID][..] };
    let plan = with_ids.scan_chunks(&ctx.state, axes, columns, &[]).await?;
    let mut batches = execute_stream(plan, ctx.state.task_ctx())?;
    let mut written = HashMap::new();
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let ids = batch.column(batch.num_columns() - 1).as_primitive::<UInt64Type>();
        for row in 0..batch.num_rows() {
            let row_id = ids.value(row);
            let (numbers, cells) = match keeps_cells {
                true => {
                    let chunk = chunk_row(&array.definition, &batch, row);
                    (chunk.numbers, Some(chunk.cells))
                }
                false => (numbers_of(&batch, axes.len(), row), None),
            };
            written.insert(numbers, WrittenChunk { row_id, cells });
        }
    }
    Ok(written)
}

/// A change that is known, and not made yet.
struct Change {
    array: ArrayTable,
    axes: Vec<Axis>,
    cells: NewCells,
    lengths: Vec<u64>,
    written: HashMap<Vec<u64>, WrittenChunk>,
    table: Arc<StoreTable>,
}

impl Change {
    fn apply(self) -> Result<(), EngineError> {
        let (scope, record) = (self.table.write_scope(), self.table.snapshot.record());
        scope.check_writable()?;
        let target = WriteTarget {
            namespace: record.namespace.clone(),
            table: record.name.clone(),
            schema: Arc::clone(self.table.snapshot.schema()),
            cluster_key: record.cluster_key.clone(),
            what: WriteMode::Existing { id: record.id, replace: false },
        };
        let mut rows = RowWriter::new(scope, target.clone())?;
        let chunks = ChunkWriter {
            array: &self.array.definition,
            axes: &self.axes,
            cells: self.cells,
            schema: Arc::clone(&target.schema),
            lengths: self.lengths,
        };
        let mut deletions: BTreeMap<u64, RoaringBitmap> = BTreeMap::new();
        for numbers in ChunkNumbers::new(&self.array.definition, &self.axes) {
            let before = self.written.get(&numbers);
            let Some(row) = chunks.row(&numbers, before.and_then(|chunk| chunk.cells.as_ref()))? else {
                return Err(EngineError::internal(format!("the region has no cell in its chunk {numbers:?}")));
            };
            if let Some(before) = before {
                let (segment, row) = decode(before.row_id);
                deletions.entry(segment).or_default().insert(row);
            }
            rows.write(row)?;
        }
        let staged = rows.seal()?;
        replace_rows(scope, UPDATE, &target, record.id, deletions, Some(staged))
    }
}
