//! An array, or a region of it, as a relation with a row for each cell.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Column, DFSchema, Result, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;

use crate::cell_rows::CellRows;
use crate::cells_exec::{CellsExec, row_count};
use crate::definition::{ArrayDefinition, CELLS, GREATEST, LEAST};
use crate::filters::{index_range, on_chunk};
use crate::grid::{ChunkCount, chunk_bounds};
use crate::slices::{Axis, Slice, region};
use common::error::EngineError;

#[derive(Debug, Clone)]
pub struct ArrayTable {
    /// In messages.
    pub name: String,
    /// An array that takes the place of this one has another.
    pub object_id: u64,
    pub definition: Arc<ArrayDefinition>,
    /// The number of cells along each dimension.
    pub lengths: Vec<u64>,
    /// The table with a row for each chunk that was written.
    pub chunks: Arc<dyn TableProvider>,
    pub axes: Vec<Axis>,
    schema: SchemaRef,
    create_statement: String,
}

impl ArrayTable {
    pub fn new(name: String, object_id: u64, definition: ArrayDefinition, lengths: Vec<u64>, chunks: Arc<dyn TableProvider>) -> ArrayTable {
        let axes = lengths.iter().map(|length| Axis::whole(*length)).collect();
        let (schema, create_statement) = (definition.cell_schema(), definition.create_statement(&name));
        ArrayTable { name, object_id, definition: Arc::new(definition), lengths, chunks, axes, schema, create_statement }
    }

    /// The same array with only these cells.
    pub fn region(&self, slices: &[Slice]) -> Result<ArrayTable, EngineError> {
        let axes = region(slices, &self.definition, &self.lengths, false)?;
        Ok(ArrayTable { axes, ..self.clone() })
    }

    /// The same array, read from other columns of the same chunks.
    pub fn with_chunks(&self, chunks: Arc<dyn TableProvider>) -> ArrayTable {
        ArrayTable { chunks, ..self.clone() }
    }

    pub fn chunk_count(&self, axes: &[Axis]) -> ChunkCount {
        ChunkCount::of(&self.definition, axes, &self.lengths)
    }

    /// Reads the chunks of a region: their numbers, and these other columns.
    pub async fn scan_chunks(
        &self,
        state: &dyn Session,
        axes: &[Axis],
        others: &[&str],
        conditions: &[Expr],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut filters = conditions.to_vec();
        let bounds = chunk_bounds(&self.definition, axes);
        for (dimension, (first, last)) in self.definition.dimensions.iter().zip(bounds.iter().flatten()) {
            let number = Expr::Column(Column::from_name(&dimension.name));
            filters.push(number.clone().gt_eq(lit(*first as i64)));
            filters.push(number.lt_eq(lit(*last as i64)));
        }
        let mut projection: Vec<usize> = (0..self.definition.dimensions.len()).collect();
        for column in others {
            projection.push(self.chunks.schema().index_of(column)?);
        }
        // Planned also for a region without cells, because it checks the rights.
        let scan = self.chunks.scan(state, Some(&projection), &filters, None).await?;
        Ok(if bounds.is_some() { scan } else { Arc::new(EmptyExec::new(scan.schema())) })
    }

    /// Whether a cell that was never written may satisfy the condition on the least and greatest value of its chunk.
    fn fill_passes(&self, state: &dyn Session, condition: &Expr) -> Result<bool> {
        let bounds = Schema::new([LEAST, GREATEST].map(|name| Field::new(name, self.definition.element.clone(), false)).to_vec());
        let fill = self.definition.fill.to_array()?;
        let batch = RecordBatch::try_new(Arc::new(bounds.clone()), vec![Arc::clone(&fill), fill])?;
        let condition = state.create_physical_expr(condition.clone(), &DFSchema::try_from(bounds)?)?;
        let passes = condition.evaluate(&batch)?.into_array(1)?;
        Ok(passes.as_boolean().iter().any(|passes| passes == Some(true)))
    }
}

#[async_trait]
impl TableProvider for ArrayTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        Some(&self.create_statement)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (mut axes, mut conditions, mut with_holes) = (self.axes.clone(), Vec::new(), true);
        for filter in filters {
            if let Some(range) = index_range(filter, &self.definition) {
                axes[range.dimension] = axes[range.dimension].narrowed(range.least, range.greatest);
            } else if let Some(condition) = on_chunk(filter, &self.definition) {
                with_holes = with_holes && self.fill_passes(state, &condition)?;
                conditions.push(condition);
            }
        }
        let columns = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let cells: &[&str] = if columns.contains(&self.definition.dimensions.len()) { &[CELLS] } else { &[] };
        let written = self.scan_chunks(state, &axes, cells, &conditions).await?;
        // Chunks that the conditions rule out are no holes.
        let present = if with_holes { Some(self.scan_chunks(state, &axes, &[], &[]).await?) } else { None };
        let is_exact = conditions.is_empty();
        let count = self.chunk_count(&axes);
        let schema = Arc::new(self.schema.project(&columns)?);
        let batch_rows = state.config().batch_size();
        let rows = CellRows { array: Arc::clone(&self.definition), axes: axes.into(), columns, schema, batch_rows };
        let fill = self.definition.fill_bytes()?;
        Ok(Arc::new(CellsExec::new(self.name.clone(), rows, fill, count, (written, present), is_exact)))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match index_range(filter, &self.definition) {
            Some(range) if range.is_exact => TableProviderFilterPushDown::Exact,
            Some(_) => TableProviderFilterPushDown::Inexact,
            None if on_chunk(filter, &self.definition).is_some() => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = row_count(&self.axes, true);
        Some(statistics)
    }
}
