//! What batches that a kernel holds on to take of the query's memory.

use arrow::array::{Array, RecordBatch};
use arrow::buffer::Buffer;
use arrow::array::ArrayData;

use crate::report::MappedPlaces;

/// Bytes of the batch that lie in no mapped segment. What several batches share counts for each.
pub(crate) fn owned_bytes(batch: &RecordBatch, mapped: &MappedPlaces) -> usize {
    batch.columns().iter().map(|column| of_data(&column.to_data(), mapped)).sum()
}

fn of_data(data: &ArrayData, mapped: &MappedPlaces) -> usize {
    let of_buffer = |buffer: &Buffer| if mapped.has(buffer.as_ptr(), buffer.len()) { 0 } else { buffer.len() };
    let nulls = data.nulls().map_or(0, |nulls| of_buffer(nulls.buffer()));
    let buffers: usize = data.buffers().iter().map(of_buffer).sum();
    let children: usize = data.child_data().iter().map(|child| of_data(child, mapped)).sum();
    nulls + buffers + children
}
