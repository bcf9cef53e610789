//! What a region is overwritten with, as new rows of the table of chunks.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNumericType, AsArray, Int64Array, PrimitiveArray, RecordBatch, downcast_primitive};
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::compute::{max, min};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;

use crate::cell_rows::{in_chunk, primitive, tensor_of};
use crate::copy::{Strided, copy_box, fill, strides};
use crate::definition::ArrayDefinition;
use crate::grid::{AxisPart, part_in};
use crate::slices::Axis;

/// The new cells of a region.
#[derive(Debug, Clone)]
pub enum NewCells {
    /// One value for all of them.
    Same(Buffer),
    /// All of them, in row-major order of the region.
    Each(Buffer),
}

/// Changes the cells of a region in chunks.
#[derive(Debug)]
pub struct ChunkWriter<'a> {
    pub array: &'a ArrayDefinition,
    pub axes: &'a [Axis],
    pub cells: NewCells,
    pub schema: SchemaRef,
    /// The cells that the array has along each growing dimension afterwards.
    pub lengths: Vec<u64>,
}

impl ChunkWriter<'_> {
    /// The row of a chunk after the change; `before` are its cells, if it was written before.
    pub fn row(&self, numbers: &[u64], before: Option<&Buffer>) -> Result<Option<RecordBatch>> {
        let Some(parts) = part_in(self.array, self.axes, numbers) else { return Ok(None) };
        let (width, cells) = (self.array.width(), self.array.chunk_cells());
        let mut buffer = MutableBuffer::from_len_zeroed(cells * width);
        let is_whole = parts.iter().zip(&self.array.dimensions).all(|(part, dimension)| part.count == dimension.chunk);
        match before {
            _ if is_whole => {}
            Some(before) => buffer.as_slice_mut().copy_from_slice(before),
            None => fill(buffer.as_slice_mut(), &self.array.fill_bytes()?),
        }
        self.overwrite(&parts, buffer.as_slice_mut());
        let cells = primitive(self.array, buffer.into(), cells)?;
        self.row_of(numbers, cells).map(Some)
    }

    fn overwrite(&self, parts: &[AxisPart], chunk: &mut [u8]) {
        let counts: Vec<u64> = parts.iter().map(|part| part.count).collect();
        let target = in_chunk(self.array, parts);
        match &self.cells {
            NewCells::Same(value) => {
                let source = Strided { start: 0, strides: vec![0; counts.len()] };
                copy_box((value, &source), (chunk, &target), &counts, self.array.width());
            }
            NewCells::Each(cells) => {
                let distances = strides(self.axes.iter().map(|axis| axis.count));
                let start = parts.iter().zip(&distances).map(|(part, distance)| part.first as i64 * distance).sum();
                copy_box((cells, &Strided { start, strides: distances }), (chunk, &target), &counts, self.array.width());
            }
        }
    }

    fn row_of(&self, numbers: &[u64], cells: ArrayRef) -> Result<RecordBatch> {
        let index = |value: u64| Arc::new(Int64Array::from(vec![value as i64])) as ArrayRef;
        let mut columns: Vec<ArrayRef> = numbers.iter().map(|number| index(*number)).collect();
        for (at, dimension) in self.array.growing() {
            // What the chunk adds to the length; other chunks may add more.
            let end = ((numbers[at] + 1) * dimension.chunk).min(self.lengths[at]);
            columns.push(index(end));
        }
        columns.extend(extremes(&cells)?);
        columns.push(tensor_of(self.schema.field(columns.len()).data_type(), cells)?);
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// The least and the greatest cell as SQL orders them: NaN, of which there is one, is greater than every number.
fn extremes(cells: &ArrayRef) -> Result<[ArrayRef; 2]> {
    macro_rules! of {
        ($type:ty) => {
            extremes_of(cells.as_primitive::<$type>())
        };
    }
    downcast_primitive! {
        cells.data_type() => (of),
        other => datafusion::common::internal_err!("an array has cells of type {other}")
    }
}

fn extremes_of<T: ArrowNumericType>(cells: &PrimitiveArray<T>) -> Result<[ArrayRef; 2]> {
    let bound =
        |value: Option<T::Native>| Arc::new(PrimitiveArray::<T>::from_iter([value]).with_data_type(cells.data_type().clone())) as ArrayRef;
    Ok([bound(min(cells)), bound(max(cells))])
}
