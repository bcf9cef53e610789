//! Memory for blocks of the output, which is reused after the reader has released it.
//!
//! The first touch of memory that is new from the system costs two to four times as much as writing it again. So a result that is
//! written somewhere batch by batch is made in the same few allocations.

use std::sync::Arc;

use arrow::array::PrimitiveArray;
use arrow::buffer::{Buffer, ScalarBuffer};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::element::Element;

/// As many as a segment collects, and some more.
const LENT_MAX: usize = 8;
/// The limit in bytes, unless that is less than two buffers.
const LENT_BYTES_MAX: usize = 256 << 20;

pub struct Outputs {
    /// The memory of buffers in use and of returned ones.
    memory: MemoryReservation,
    /// The memory of the inputs, kept while they are used.
    _inputs: Arc<MemoryReservation>,
    /// The buffers that went out last.
    lent: Vec<Buffer>,
}

impl Outputs {
    pub fn new(memory: MemoryReservation, inputs: Arc<MemoryReservation>) -> Outputs {
        Outputs { memory, _inputs: inputs, lent: Vec::new() }
    }

    /// A buffer of so many elements with arbitrary values.
    pub fn take<T: Element>(&mut self, elements: usize) -> Result<Vec<T>> {
        let bytes = elements * size_of::<T>();
        let fits = |buffer: &Buffer| buffer.strong_count() == 1 && buffer.len() == bytes;
        let reused = self.lent.iter().position(fits).map(|at| self.lent.remove(at).into_vec::<T>());
        let spare_bytes: usize = self.lent.iter().filter(|buffer| buffer.strong_count() == 1).map(Buffer::len).sum();
        if self.memory.try_resize(bytes + spare_bytes).is_err() {
            // The buffers have another size, or there are more of them than are needed at once.
            self.lent.clear();
            self.memory.try_resize(bytes)?;
        }
        match reused {
            Some(Ok(values)) => Ok(values),
            // Zeros that are new from the system need no writing.
            _ => Ok(vec![T::default(); elements]),
        }
    }

    /// Turns the values into an array for the output.
    pub fn lend<T: Element>(&mut self, values: Vec<T>) -> PrimitiveArray<T::Arrow> {
        let buffer = Buffer::from_vec(values);
        let lent_max = (LENT_BYTES_MAX / buffer.len().max(1)).clamp(2, LENT_MAX);
        if self.lent.len() >= lent_max {
            self.lent.drain(..self.lent.len() + 1 - lent_max);
        }
        self.lent.push(buffer.clone());
        PrimitiveArray::new(ScalarBuffer::from(buffer), None)
    }
}
