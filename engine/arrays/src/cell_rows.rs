//! The cells of one chunk as rows: their indices and their values.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, FixedSizeListArray, Int64Array, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use datafusion::common::{Result, internal_err};

use crate::copy::{Strided, copy_box, fill, strides};
use crate::definition::ArrayDefinition;
use crate::grid::{AxisPart, part_in};
use crate::slices::Axis;

/// A row of the table of chunks.
pub struct ChunkRow {
    pub numbers: Vec<u64>,
    /// All of its cells, where they lie.
    pub cells: Buffer,
}

/// The row of a batch whose columns are the numbers of the chunks and then the cells.
pub fn chunk_row(array: &ArrayDefinition, batch: &RecordBatch, row: usize) -> ChunkRow {
    let dimensions = array.dimensions.len();
    let cells = batch.column(dimensions).as_fixed_size_list().value(row).to_data();
    let cells = cells.buffers()[0].slice_with_length(cells.offset() * array.width(), cells.len() * array.width());
    ChunkRow { numbers: numbers_of(batch, dimensions, row), cells }
}

/// The numbers of the chunk in the first columns of a row.
pub fn numbers_of(batch: &RecordBatch, dimensions: usize, row: usize) -> Vec<u64> {
    (0..dimensions).map(|at| batch.column(at).as_primitive::<Int64Type>().value(row) as u64).collect()
}

/// Where the part of a region lies in its chunk.
pub fn in_chunk(array: &ArrayDefinition, parts: &[AxisPart]) -> Strided {
    let distances = strides(array.dimensions.iter().map(|dimension| dimension.chunk));
    let start = parts.iter().zip(&distances).map(|(part, distance)| part.offset * distance).sum();
    Strided { start, strides: parts.iter().zip(&distances).map(|(part, distance)| part.step * distance).collect() }
}

/// Makes the rows of a region.
#[derive(Debug, Clone)]
pub struct CellRows {
    pub array: Arc<ArrayDefinition>,
    pub axes: Arc<[Axis]>,
    /// The columns that are wanted, as positions in the relation of the array.
    pub columns: Vec<usize>,
    pub schema: SchemaRef,
    pub batch_rows: usize,
}

impl CellRows {
    /// The cells of the region in a chunk that was written.
    pub fn of_chunk(&self, chunk: &ChunkRow) -> CellBatches {
        let Some(parts) = part_in(&self.array, &self.axes, &chunk.numbers) else { return self.batches(Vec::new(), None) };
        let has_value = self.columns.contains(&self.array.dimensions.len());
        let values = has_value.then(|| self.values(&parts, &chunk.cells));
        self.batches(parts, values.map(Values::Cells))
    }

    /// The cells of the region in a chunk that was never written.
    pub fn of_hole(&self, numbers: &[u64], pattern: &Buffer) -> CellBatches {
        let parts = part_in(&self.array, &self.axes, numbers).unwrap_or_default();
        let cells = parts.iter().map(|part| part.count as usize).product::<usize>().min(self.batch_rows);
        let mut buffer = MutableBuffer::from_len_zeroed(cells * self.array.width());
        fill(buffer.as_slice_mut(), pattern);
        self.batches(parts, Some(Values::Same(buffer.into())))
    }

    fn batches(&self, parts: Vec<AxisPart>, values: Option<Values>) -> CellBatches {
        let total = if parts.is_empty() { 0 } else { parts.iter().map(|part| part.count as usize).product() };
        let distances = strides(parts.iter().map(|part| part.count)).into_iter().map(|distance| distance as usize).collect();
        CellBatches { rows: self.clone(), parts, distances, values, at: 0, total }
    }

    /// The cells of the part, one after the other; in place if they are so in the chunk.
    fn values(&self, parts: &[AxisPart], cells: &Buffer) -> Buffer {
        let (width, source) = (self.array.width(), in_chunk(&self.array, parts));
        let counts: Vec<u64> = parts.iter().map(|part| part.count).collect();
        let total = counts.iter().product::<u64>() as usize;
        if source.is_contiguous(&counts) {
            return cells.slice_with_length(source.start as usize * width, total * width);
        }
        let mut buffer = MutableBuffer::from_len_zeroed(total * width);
        let target = Strided { start: 0, strides: strides(counts.iter().copied()) };
        copy_box((cells, &source), (buffer.as_slice_mut(), &target), &counts, width);
        buffer.into()
    }
}

enum Values {
    /// A value for each row.
    Cells(Buffer),
    /// The same value for all rows, as often as a batch needs it.
    Same(Buffer),
}

/// The rows of one chunk in batches, each made on demand.
pub struct CellBatches {
    rows: CellRows,
    parts: Vec<AxisPart>,
    /// Rows between neighbours along each dimension.
    distances: Vec<usize>,
    values: Option<Values>,
    at: usize,
    total: usize,
}

impl Iterator for CellBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let count = (self.total - self.at).min(self.rows.batch_rows);
        if count == 0 {
            return None;
        }
        let columns = self.rows.columns.iter().map(|column| match self.parts.get(*column) {
            Some(_) => Ok(self.indices(*column, count)),
            None => self.cell_values(count),
        });
        let batch = columns.collect::<Result<Vec<_>>>().and_then(|columns| {
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&self.rows.schema), columns, &options)?)
        });
        self.at += count;
        Some(batch)
    }
}

impl CellBatches {
    /// The indices of the next rows along a dimension.
    fn indices(&self, dimension: usize, count: usize) -> ArrayRef {
        let (part, axis, distance) = (&self.parts[dimension], &self.rows.axes[dimension], self.distances[dimension]);
        let mut indices = Vec::with_capacity(count);
        let end = self.at + count;
        let mut at = self.at;
        while at < end {
            let position = part.first as usize + at / distance % part.count as usize;
            let same = (distance - at % distance).min(end - at);
            indices.resize(indices.len() + same, axis.start + axis.step * position as i64);
            at += same;
        }
        Arc::new(Int64Array::from(indices))
    }

    fn cell_values(&self, count: usize) -> Result<ArrayRef> {
        let width = self.rows.array.width();
        let buffer = match &self.values {
            Some(Values::Cells(cells)) => cells.slice_with_length(self.at * width, count * width),
            Some(Values::Same(cells)) => cells.slice_with_length(0, count * width),
            None => Buffer::from(&[] as &[u8]),
        };
        primitive(&self.rows.array, buffer, count)
    }
}

/// Cells of an array as a column.
pub fn primitive(array: &ArrayDefinition, cells: Buffer, count: usize) -> Result<ArrayRef> {
    Ok(make_array(ArrayData::builder(array.element.clone()).len(count).add_buffer(cells).build()?))
}

/// Cells as one tensor.
pub fn tensor_of(tensor: &DataType, cells: ArrayRef) -> Result<ArrayRef> {
    let DataType::FixedSizeList(item, size) = tensor else { return internal_err!("cells become a tensor, and not {tensor}") };
    Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *size, cells, None)?))
}
