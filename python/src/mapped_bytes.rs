//! Bytes of a blob, or of a chunk of an array, where they lie, for `pyarrow.foreign_buffer`.

use arrow::buffer::Buffer;
use pyo3::prelude::*;

/// It keeps the bytes: their file stays mapped as long as it lives.
#[pyclass(frozen, module = "quiver._quiver")]
pub struct MappedBytes(Buffer);

impl MappedBytes {
    pub fn new(bytes: Buffer) -> MappedBytes {
        MappedBytes(bytes)
    }
}

#[pymethods]
impl MappedBytes {
    #[getter]
    fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    #[getter]
    fn size_bytes(&self) -> usize {
        self.0.len()
    }
}
