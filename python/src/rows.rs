//! Record batches through Arrow's C stream interface, in the capsules that Python libraries exchange.
//!
//! **Invariants.** Exported buffers are not copied, and they live as long as they are referenced. Imported data
//! is validated in full before the engine sees it: a library may pass invalid text. The interface does not allow to detect
//! batches with another schema than the stream's: `quiver/data.py` checks readers that are written in Python.

use std::collections::HashSet;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use arrow::array::{Array, AsArray, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use arrow::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use engine::EngineError;
use futures::Stream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tokio::sync::mpsc;

use crate::errors;

const NAME: &CStr = c"arrow_array_stream";

type Reader = Box<dyn RecordBatchReader + Send>;

/// Rows that can be taken once, by Arrow's PyCapsule interface.
#[pyclass(frozen, module = "quiver._quiver")]
pub struct Rows {
    reader: Mutex<Option<Reader>>,
}

impl Rows {
    pub fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Rows {
        Rows::lazily(Box::new(RecordBatchIterator::new(batches.into_iter().map(Ok), schema)))
    }

    pub fn lazily(reader: Reader) -> Rows {
        Rows { reader: Mutex::new(Some(reader)) }
    }
}

#[pymethods]
impl Rows {
    /// Columns keep their types. The interface allows to ignore `requested_schema`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<&Bound<'_, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = reader.ok_or_else(|| errors::invalid("these rows were read already"))?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), NAME)
    }
}

/// The single batch of an object with `__arrow_c_stream__`.
pub fn only_batch(data: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let mut reader = opened(data)?;
    let batch = reader.next().ok_or_else(|| errors::invalid("there is no row of parameters"))?;
    let batch = batch.and_then(checked).map_err(|error| errors::invalid(&error.to_string()))?;
    match reader.next() {
        None => Ok(batch),
        Some(_) => Err(errors::invalid("parameters come in one batch")),
    }
}

/// The rows of an object with `__arrow_c_stream__`. A separate thread reads them, because the library that makes them may take
/// long, and may take Python's lock.
pub fn incoming(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, impl Stream<Item = Result<RecordBatch, EngineError>> + Send + use<>)> {
    let reader = opened(data)?;
    let schema = reader.schema();
    check_names(&schema)?;
    let (sender, receiver) = mpsc::channel(1);
    let read = move || {
        for batch in reader {
            if sender.blocking_send(Some(batch.and_then(checked))).is_err() {
                return;
            }
        }
        // An explicit error, because a reader that panicked must not look like one that is complete.
        let _ = sender.blocking_send(None);
    };
    let thread = std::thread::Builder::new().name("quiver-rows".to_string());
    thread.spawn(read).map_err(|error| errors::internal(&format!("the thread that reads rows cannot be started: {error}")))?;
    let batches = futures::stream::unfold(Some(receiver), |receiver| async {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Some(Ok(batch))) => Some((Ok(batch), Some(receiver))),
            Some(Some(Err(error))) => Some((Err(refused(&error)), None)),
            Some(None) => None,
            None => Some((Err(broken()), None)),
        }
    });
    Ok((schema, batches))
}

/// The number of written rows in a batch of a write's result.
pub fn written(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |counts| counts.values().iter().sum())
}

fn opened(data: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let capsule = data.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| errors::invalid("__arrow_c_stream__ gave no capsule"))?;
    let stream = capsule.pointer_checked(Some(NAME))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream of Arrow's C interface, which is moved out of it and marked as
    // released there; the capsule lives until this function ends. The test
    // `test_rows_of_every_library_are_written` moves streams of three libraries.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    reader.map_err(|error| errors::invalid(&format!("these rows cannot be read: {error}")))
}

/// Two columns with the same name would be ambiguous.
fn check_names(schema: &Schema) -> PyResult<()> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(field.name())) {
        Some(field) => Err(errors::invalid(&format!("two columns are called \"{}\"; give one of them another name", field.name()))),
        None => Ok(()),
    }
}

fn checked(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    batch.columns().iter().try_for_each(|column| column.to_data().validate_full())?;
    Ok(batch)
}

fn refused(error: &ArrowError) -> EngineError {
    let message = match error {
        ArrowError::CDataInterface(message) => message.clone(),
        other => other.to_string(),
    };
    EngineError::Execution { message: format!("the rows cannot be read: {message}"), hint: None }
}

fn broken() -> EngineError {
    let message = "the library that makes the rows stopped without saying why; nothing was written".to_string();
    EngineError::Execution { message, hint: None }
}
