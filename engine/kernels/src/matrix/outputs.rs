//! Memory for blocks that go out, used again where whoever read them has let go.
//!
//! The first touch of memory that the system has just given costs two to four times what writing it again does, so a result that is
//! written somewhere batch by batch is made in the same few allocations.

use std::sync::Arc;

use arrow::array::PrimitiveArray;
use arrow::buffer::{Buffer, ScalarBuffer};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::element::Element;

/// As many as a segment waits for, and some more.
const LENT_MAX: usize = 8;
/// The same in bytes, unless that is less than two of them.
const LENT_BYTES_MAX: usize = 256 << 20;

pub struct Outputs {
    /// For what is being made and what came back.
    memory: MemoryReservation,
    /// What the inputs take, for as long as they are used.
    _inputs: Arc<MemoryReservation>,
    /// The last ones that went out.
    lent: Vec<Buffer>,
}

impl Outputs {
    pub fn new(memory: MemoryReservation, inputs: Arc<MemoryReservation>) -> Outputs {
        Outputs { memory, _inputs: inputs, lent: Vec::new() }
    }

    /// So many elements, of any values.
    pub fn take<T: Element>(&mut self, elements: usize) -> Result<Vec<T>> {
        let bytes = elements * size_of::<T>();
        let fits = |buffer: &Buffer| buffer.strong_count() == 1 && buffer.len() == bytes;
        let reused = self.lent.iter().position(fits).map(|at| self.lent.remove(at).into_vec::<T>());
        let kept: usize = self.lent.iter().filter(|buffer| buffer.strong_count() == 1).map(Buffer::len).sum();
        if self.memory.try_resize(bytes + kept).is_err() {
            // Of another size, or more of them than are needed at once.
            self.lent.clear();
            self.memory.try_resize(bytes)?;
        }
        match reused {
            Some(Ok(values)) => Ok(values),
            // Zeros that are new from the system are not written for that.
            _ => Ok(vec![T::default(); elements]),
        }
    }

    /// The values go out, as an array.
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
