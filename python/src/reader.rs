//! Reads a result for a library that pulls it through Arrow's C stream interface, on any thread.

use std::pin::Pin;
use std::sync::Arc;
use std::thread::ThreadId;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use futures::StreamExt;
use pyo3::prelude::*;

use crate::process::ProcessBound;
use crate::refusal::Refusal;
use crate::slot::Slot;
use crate::waiting::{TICK, wait_for};

pub struct Reader {
    slot: ProcessBound<Arc<Slot>>,
    /// The thread that requested the stream. Another thread must not take Python's lock: that one may hold it and wait for this one.
    thread: ThreadId,
}

impl Reader {
    pub fn of(slot: Arc<Slot>) -> Reader {
        Reader { slot: ProcessBound::new(slot), thread: std::thread::current().id() }
    }

    fn pull(&self) -> Result<Option<RecordBatch>, String> {
        let slot = self.slot.get().map_err(|forked| forked.to_string())?;
        let Some(mut output) = slot.lend().map_err(|refusal| refusal_message(&refusal))? else { return Ok(None) };
        loop {
            let next = {
                let _in_runtime = slot.runtime.enter();
                wait_for(Pin::new(&mut output.next()), TICK)
            };
            if let Some(next) = next {
                return slot.return_with(output, next).map_err(|error| error.to_string());
            }
            if self.thread == std::thread::current().id() && is_interrupted() {
                slot.stop(Refusal::Interrupted);
            }
            // Also stopped by closing the connection meanwhile.
            if let Some(refusal) = slot.stopped() {
                return Err(refusal_message(&refusal));
            }
        }
    }
}

fn refusal_message(refusal: &Refusal) -> String {
    match refusal.hint() {
        Some(hint) => format!("{refusal}; {hint}"),
        None => refusal.to_string(),
    }
}

/// The library in between does not support Python exceptions, so the signal is raised again for its caller.
fn is_interrupted() -> bool {
    let interrupted = Python::try_attach(|py| {
        py.check_signals().inspect_err(|_| {
            let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
        })
    });
    interrupted.is_some_and(|result| result.is_err())
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // A C string ends at a NUL.
        self.pull().transpose().map(|batch| batch.map_err(|message| ArrowError::ExternalError(message.replace('\0', " ").into())))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.slot.get().map_or_else(|_| Arc::new(Schema::empty()), |slot| Arc::clone(&slot.schema))
    }
}
